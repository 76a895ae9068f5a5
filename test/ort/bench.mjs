// SPDX-License-Identifier: Apache-2.0
//
// Times ONNX Runtime on one graph at one shape, for scripts/measure-cpu:
//
//   node bench.mjs MODEL.onnx NxHxW THREADS RUNS
//
// Prints one JSON object: milliseconds of session.run alone, after a few untimed ones.
import process from 'node:process';
import ort from 'onnxruntime-node';

const [model, shape, threads, runs] = process.argv.slice(2);
const [n, h, w] = (shape ?? '').split('x').map(Number);
if (!(n > 0 && h > 0 && w > 0 && threads > 0 && runs > 0)) {
  console.error('usage: node bench.mjs MODEL.onnx NxHxW THREADS RUNS');
  process.exit(2);
}
const session = await ort.InferenceSession.create(model, {
  intraOpNumThreads: Number(threads), interOpNumThreads: 1, executionProviders: ['cpu'],
});
const data = new Float32Array(n * 3 * h * w);
for (let i = 0; i < data.length; ++i) data[i] = Math.sin(i / 50);
const feeds = { [session.inputNames[0]]: new ort.Tensor('float32', data, [n, 3, h, w]) };
const wall = [], cpu = [];
for (let i = -3; i < Number(runs); ++i) {
  const usage = process.cpuUsage(), start = performance.now();
  await session.run(feeds);
  const ms = performance.now() - start, used = process.cpuUsage(usage);
  if (i < 0) continue;
  wall.push(ms);
  cpu.push((used.user + used.system) / 1e3);
}
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
console.log(JSON.stringify({ wall_ms: median(wall), wall_min_ms: Math.min(...wall), cpu_ms: median(cpu) }));
