// Repeats written cases under onnxruntime's WebAssembly: what run_cases.py does, in a browser's runtime.
// Usage: node run_cases.mjs CASES MODULES, the folder of the cases and the one whose node_modules hold onnxruntime-web.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [folder, modules] = process.argv.slice(2);
const ort = createRequire(resolve(modules, "package.json"))("onnxruntime-web");

const TOLERANCE = 1e-4;
const FLOOR = 1e-3; // the same as in run_cases.py
const ARRAYS = { float32: Float32Array, int64: BigInt64Array };
ort.env.wasm.numThreads = 1;

function arrayOf({ dtype, shape, offset }, content) {
  const Type = ARRAYS[dtype];
  const bytes = shape.reduce((product, size) => product * size, 1) * Type.BYTES_PER_ELEMENT;
  return new Type(content.buffer.slice(content.byteOffset + offset, content.byteOffset + offset + bytes));
}

function relativeError(found, wanted) {
  if (found.length !== wanted.length) return Infinity;
  let greatest = FLOOR;
  let off = 0;
  for (let index = 0; index < wanted.length; index++) {
    greatest = Math.max(greatest, Math.abs(Number(wanted[index])));
    const here = Math.abs(Number(found[index]) - Number(wanted[index]));
    if (!(here <= off)) off = here; // also keeps what is not a number
  }
  return off / greatest;
}

let differing = 0;
const names = readdirSync(folder).filter((name) => existsSync(join(folder, name, "case.json"))).sort();
if (names.length === 0) throw new Error(`no cases in ${folder}`);
for (const name of names) {
  const content = readFileSync(join(folder, name, "case.bin"));
  let worst = 0;
  for (const [graph, tensors] of Object.entries(JSON.parse(readFileSync(join(folder, name, "case.json"), "utf8")))) {
    const session = await ort.InferenceSession.create(readFileSync(join(folder, name, `${graph}.onnx`)), {
      executionProviders: ["wasm"],
    });
    const feed = Object.fromEntries(
      tensors.inputs.map((entry) => [entry.name, new ort.Tensor(entry.dtype, arrayOf(entry, content), entry.shape)]),
    );
    const found = await session.run(feed);
    for (const entry of tensors.outputs) {
      const off = relativeError(found[entry.name].data, arrayOf(entry, content));
      if (!(off <= worst)) worst = off;
      if (!(off <= TOLERANCE)) {
        differing++;
        console.log(`${name} ${graph} ${entry.name}: off by ${off.toExponential(1)}`);
      }
    }
    await session.release();
  }
  console.log(`${name}: ${worst.toExponential(1)}`);
}
console.log(`onnxruntime-web ${ort.env.versions.web}: ${differing} tensors differ`);
process.exit(differing > 0 ? 1 : 0);
