// SPDX-License-Identifier: Apache-2.0
// Makes test/data/ort/*.f32: what ONNX Runtime computes for small seeded pictures.
//
//   npm ci --ignore-scripts && node reference.mjs MODELS_DIR OUT_DIR [--full]
//
// det.f32: the map, 1 x 96 x 160. cls.f32: 2 x 2 probabilities. rec.f32: for each of 2 x 12 steps
// the best class, its probability, then the probabilities of classes 0, 16, 32, ...; with --full
// all of them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import ort from 'onnxruntime-node';

const [modelsDir, outDir, mode] = process.argv.slice(2);
if (!modelsDir || !outDir) {
  console.error('usage: node reference.mjs MODELS_DIR OUT_DIR [--full]');
  process.exit(2);
}

// The same pictures as reference_picture() in test/support/reference_picture.hpp: integers only.
// Characters of seven segments, 8 x 16 pixels, in every other row of 16.
function stroke(b, x, y) {
  if (((y >> 4) & 1) === 0) return false;
  const mixed = ((x >> 3) * 40503 + (y >> 4) * 60493 + b * 31337 + 12345) & 0xffff;
  const segments = (mixed * 40503 >>> 7) & 0x7f;
  const col = x & 7, row = y & 15;
  if (col < 1 || col > 6 || row < 1 || row > 14) return false;
  const bit = row <= 2 ? 0 : row >= 13 ? 1 : row === 7 || row === 8 ? 2
    : col <= 2 ? (row < 7 ? 3 : 4) : col >= 5 ? (row < 7 ? 5 : 6) : -1;
  return bit >= 0 && ((segments >> bit) & 1) === 1;
}

function picture(seed, n, h, w) {
  const bytes = new Uint8Array(n * h * w * 3);
  let state = seed >>> 0;
  let at = 0;
  for (let b = 0; b < n; ++b) {
    for (let y = 0; y < h; ++y) {
      for (let x = 0; x < w; ++x) {
        const dark = stroke(b, x, y) && x >= 8 && x < w - 8;
        for (let c = 0; c < 3; ++c) {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
          bytes[at++] = (dark ? 30 : 220) + c * 3 + (state >>> 28);
        }
      }
    }
  }
  return bytes;
}

function tensor(bytes, n, h, w, mean, std) {
  const data = new Float32Array(n * 3 * h * w);
  for (let b = 0; b < n; ++b) {
    for (let c = 0; c < 3; ++c) {
      for (let i = 0; i < h * w; ++i) {
        data[(b * 3 + c) * h * w + i] = (bytes[(b * h * w + i) * 3 + c] / 255 - mean[c]) / std[c];
      }
    }
  }
  return new ort.Tensor('float32', data, [n, 3, h, w]);
}

async function run(file, seed, n, h, w, mean, std) {
  const session = await ort.InferenceSession.create(join(modelsDir, file), {
    intraOpNumThreads: 1, interOpNumThreads: 1, executionProviders: ['cpu'],
  });
  const feeds = { [session.inputNames[0]]: tensor(picture(seed, n, h, w), n, h, w, mean, std) };
  const out = (await session.run(feeds))[session.outputNames[0]];
  console.error(`${file}: [${out.dims}]`);
  return out;
}

function save(name, floats) {
  const f = Float32Array.from(floats);
  writeFileSync(join(outDir, name), Buffer.from(f.buffer));
}

mkdirSync(outDir, { recursive: true });
const half = [0.5, 0.5, 0.5];
const det = await run('ch_PP-OCRv4_det_infer.onnx', 1, 1, 96, 160, [0.485, 0.456, 0.406],
  [0.229, 0.224, 0.225]);
save('det.f32', det.data);
const cls = await run('ch_ppocr_mobile_v2.0_cls_infer.onnx', 3, 2, 48, 96, half, half);
save('cls.f32', cls.data);
const rec = await run('ch_PP-OCRv4_rec_infer.onnx', 2, 2, 48, 96, half, half);
if (mode === '--full') {
  save('rec.f32', rec.data);
} else {
  const classes = rec.dims[2];
  const rows = [];
  for (let step = 0; step < rec.data.length; step += classes) {
    const row = rec.data.subarray(step, step + classes);
    let best = 0;
    for (let c = 1; c < classes; ++c) if (row[c] > row[best]) best = c;
    rows.push(best, row[best]);
    for (let c = 0; c < classes; c += 16) rows.push(row[c]);
  }
  save('rec.f32', rows);
}
