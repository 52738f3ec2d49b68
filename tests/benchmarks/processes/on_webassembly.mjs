// A graph on onnxruntime's WebAssembly, one thread, as phones run it: node on_webassembly.mjs DIRECTORY MODULES.
// The directory holds graph.onnx, and feeds.json and feeds.bin as tests.portability.cases lists them; MODULES is a folder
// whose node_modules hold onnxruntime-web. What a run gives as `next.NAME` is what the next one takes as NAME.
// For each line on standard input it runs for so many seconds of processor time, and prints those of one run.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const [directory, modules] = process.argv.slice(2);
const ort = createRequire(resolve(modules, "package.json"))("onnxruntime-web");
const ARRAYS = { float32: Float32Array, int64: BigInt64Array };
const NEXT = "next.";
ort.env.wasm.numThreads = 1;

const bytes = readFileSync(join(directory, "feeds.bin"));
const feeds = {};
for (const { name, dtype, shape, offset } of JSON.parse(readFileSync(join(directory, "feeds.json"), "utf8"))) {
  const Type = ARRAYS[dtype];
  const length = shape.reduce((product, size) => product * size, 1) * Type.BYTES_PER_ELEMENT;
  const begin = bytes.byteOffset + offset;
  feeds[name] = new ort.Tensor(dtype, new Type(bytes.buffer.slice(begin, begin + length)), shape);
}
const session = await ort.InferenceSession.create(readFileSync(join(directory, "graph.onnx")), {
  executionProviders: ["wasm"],
});

async function run() {
  const found = await session.run(feeds);
  for (const [name, tensor] of Object.entries(found)) {
    if (name.startsWith(NEXT)) feeds[name.slice(NEXT.length)] = tensor;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const before = process.cpuUsage();
  let [runs, spent] = [0, 0];
  do {
    await run();
    runs++;
    const { user, system } = process.cpuUsage(before);
    spent = (user + system) / 1e6;
  } while (spent < Number(line));
  console.log(spent / runs);
}
