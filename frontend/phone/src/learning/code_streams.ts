/**
 * Payloads of codes that lossless coding makes smaller, deflated in chunks: a mirror of `coterie_learning.code_streams`.
 * The codes of all tensors follow one another, in the order of the tensors' names.
 */

import type { TensorSpec } from "../wire/bundle";
import { joined } from "../wire/bytes";
import { type AnyTensor, countOf } from "../wire/tensors";
import { inOrder, layoutName, spansOf } from "./flat";
import { malformed, type Packing, type ReadablePacking } from "./packings";

/** Codes that are deflated together. */
const CHUNK = 5 << 14;

export interface Coded {
  readonly shape: readonly number[];
  readonly codes: Int8Array;
}

/** The tensors of a payload that hold the codes of all its tensors. */
export function deflated(coded: ReadonlyMap<string, Coded>, packing: Packing): Map<string, AnyTensor> {
  const bytes = joined(
    inOrder(coded).map(([, { codes }]) => new Uint8Array(codes.buffer, codes.byteOffset, codes.length)),
  );
  const vector = new Int8Array(bytes.buffer);
  const streams: Uint8Array[] = [];
  for (let start = 0; start < vector.length; start += CHUNK) {
    streams.push(...packing.pack(vector.subarray(start, start + CHUNK)));
  }
  const sizes = Int32Array.from(streams, ({ length }) => length);
  const data = joined(streams);
  return new Map<string, AnyTensor>([
    ["sizes", { dtype: "int32", shape: [sizes.length / packing.streams, packing.streams], data: sizes }],
    [layoutName("codes", coded), { dtype: "uint8", shape: [data.length], data }],
  ]);
}

/**
 * The tensors that hold the codes of tensors of the specs `expected`; `stated` are the shapes that a payload says it has,
 * which tell how long the streams are.
 */
export function streamSpecs(
  expected: readonly TensorSpec[],
  stated: ReadonlyMap<string, AnyTensor>,
  packing: Packing,
): TensorSpec[] {
  const count = expected.reduce((sum, { shape }) => sum + countOf(shape), 0);
  const name = layoutName("codes", byName(expected));
  const length = countOf(stated.get(name)?.shape ?? [0]);
  return [
    { name: "sizes", dtype: "int32", shape: [Math.ceil(count / CHUNK), packing.streams] },
    { name, dtype: "uint8", shape: [length] },
  ];
}

/** The codes of each tensor, from what `streamSpecs` names. Throws CodedError `update.malformed`. */
export function codesOf(
  stored: ReadonlyMap<string, AnyTensor>,
  expected: readonly TensorSpec[],
  packing: ReadablePacking,
): Map<string, Int8Array> {
  const shapes = byName(expected);
  const data = stored.get(layoutName("codes", shapes))?.data as Uint8Array;
  const sizes = stored.get("sizes")?.data as Int32Array;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (sizes.some((size) => size < 0) || total !== data.length) {
    throw malformed(`its streams should fill ${data.length} bytes, their sizes sum to ${total}`);
  }
  const spans = spansOf(shapes);
  const vector = new Int8Array(spans.at(-1)?.stop ?? 0);
  let end = 0;
  const streams = Array.from(sizes, (size) => {
    end += size;
    return data.subarray(end - size, end);
  });
  for (let start = 0, at = 0; start < vector.length; start += CHUNK, at += packing.streams) {
    const count = Math.min(CHUNK, vector.length - start);
    vector.set(packing.unpack(streams.slice(at, at + packing.streams), count), start);
  }
  return new Map(spans.map(({ name, start, stop }) => [name, vector.subarray(start, stop)]));
}

const byName = (specs: readonly TensorSpec[]): ReadonlyMap<string, TensorSpec> =>
  new Map(specs.map((spec) => [spec.name, spec]));
