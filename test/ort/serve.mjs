// SPDX-License-Identifier: Apache-2.0
//
// ONNX Runtime as a process that other programs feed: the reference that the graphs on Vulkan are
// compared with, and a stand-in for them while thresholds are tuned.
//
//   node serve.mjs [--threads N] MODEL.onnx...
//
// Frames on stdin and stdout, all integers 32-bit little-endian:
//   request  "SPRQ", model (index of the argument), rank, dims[rank], floats of the only input
//   answer   "SPRS", 0, outputs, then for each output: rank, dims[rank], floats
//   answer   "SPRS", length of a message, the message in UTF-8          (the request failed)
// The first answer comes without a request, with 0 outputs: all models are loaded.
import fs from 'node:fs';
import process from 'node:process';
import ort from 'onnxruntime-node';

const kMaxElements = 1 << 28;  // 1 GiB of floats: more is a broken frame, not a picture

// Fills a buffer from stdin; null at the end of the stream between two frames.
function readExact(bytes, atFrameStart = false) {
  const buffer = Buffer.allocUnsafe(bytes);
  let have = 0;
  while (have < bytes) {
    let got;
    try {
      got = fs.readSync(0, buffer, have, bytes - have, null);
    } catch (error) {
      if (error.code === 'EAGAIN') continue;
      throw error;
    }
    if (got === 0) {
      if (atFrameStart && have === 0) return null;
      throw new Error('stdin ended inside a frame');
    }
    have += got;
  }
  return buffer;
}

function writeAll(buffer) {
  let done = 0;
  while (done < buffer.length) {
    try {
      done += fs.writeSync(1, buffer, done, buffer.length - done);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

function words(...values) {
  const buffer = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => buffer.writeUInt32LE(value, i * 4));
  return buffer;
}

function readRequest() {
  const head = readExact(12, true);
  if (head === null) return null;
  if (head.toString('latin1', 0, 4) !== 'SPRQ') throw new Error('a request must start with "SPRQ"');
  const model = head.readUInt32LE(4);
  const rank = head.readUInt32LE(8);
  if (rank > 8) throw new Error(`rank ${rank} is more than 8`);
  const dimBytes = readExact(rank * 4);
  const dims = [];
  for (let i = 0; i < rank; ++i) dims.push(dimBytes.readUInt32LE(i * 4));
  const elements = dims.reduce((a, b) => a * b, 1);
  if (elements > kMaxElements) throw new Error(`${elements} elements are too many`);
  const bytes = readExact(elements * 4);
  return { model, dims, values: new Float32Array(bytes.buffer, bytes.byteOffset, elements) };
}

const args = process.argv.slice(2);
let threads = 0;
if (args[0] === '--threads') {
  threads = Number(args[1]);
  args.splice(0, 2);
}
if (args.length === 0) {
  process.stderr.write('usage: node serve.mjs [--threads N] MODEL.onnx...\n');
  process.exit(2);
}
const options = { logSeverityLevel: 3 };
if (threads > 0) options.intraOpNumThreads = threads;
const sessions = [];
for (const file of args) sessions.push(await ort.InferenceSession.create(file, options));
writeAll(Buffer.concat([Buffer.from('SPRS'), words(0, 0)]));

for (;;) {
  const request = readRequest();
  if (request === null) break;
  try {
    const session = sessions[request.model];
    if (session === undefined) throw new Error(`no model ${request.model}`);
    // Copied: the runtime wants the array to own the whole of an aligned buffer.
    const input = new ort.Tensor('float32', Float32Array.from(request.values), request.dims);
    const results = await session.run({ [session.inputNames[0]]: input });
    const parts = [Buffer.from('SPRS'), words(0, session.outputNames.length)];
    for (const name of session.outputNames) {
      const { dims, data } = results[name];
      parts.push(words(dims.length, ...dims));
      parts.push(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    }
    writeAll(Buffer.concat(parts));
  } catch (error) {
    const message = Buffer.from(String(error.message ?? error) || 'unknown error');
    writeAll(Buffer.concat([Buffer.from('SPRS'), words(message.length), message]));
  }
}
