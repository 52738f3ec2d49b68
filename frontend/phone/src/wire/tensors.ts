/**
 * Tensors as bytes in the safetensors format: a mirror of `coterie_wire.tensors`, checked before anything is used.
 *
 * Files are read only in the one form in which the platform and the safetensors library write them.
 */
import * as v from "valibot";
import { type Dtype, Shape, type TensorSpec } from "./bundle";
import { joined, sameBytes, textOf, utf8 } from "./bytes";
import { CodedError } from "./errors";
import { checked, parsed } from "./messages";

export type Numbers = Float32Array | BigInt64Array | Int32Array | Int8Array | Uint8Array;

export interface AnyTensor {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly data: Numbers;
}

export interface Tensor extends AnyTensor {
  readonly dtype: "float32";
  readonly data: Float32Array;
}

/** Parameters, running statistics or an update, by the names that the model gives them. */
export type Tensors = ReadonlyMap<string, Tensor>;

export interface TensorFile {
  readonly metadata: ReadonlyMap<string, string>;
  readonly tensors: ReadonlyMap<string, AnyTensor>;
}

const METADATA = "__metadata__";
const MAX_HEADER_BYTES = 1 << 20;
const ALIGNMENT_BYTES = 8;
const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

interface Stored {
  readonly code: string;
  readonly bytes: number;
  readonly view: (buffer: ArrayBufferLike, offset: number, length: number) => Numbers;
}

/** In the library's order of dtypes in a file: the widest first. */
const STORED: Readonly<Record<Dtype, Stored>> = {
  int64: { code: "I64", bytes: 8, view: (...place) => new BigInt64Array(...place) },
  float32: { code: "F32", bytes: 4, view: (...place) => new Float32Array(...place) },
  int32: { code: "I32", bytes: 4, view: (...place) => new Int32Array(...place) },
  int8: { code: "I8", bytes: 1, view: (...place) => new Int8Array(...place) },
  uint8: { code: "U8", bytes: 1, view: (...place) => new Uint8Array(...place) },
  bool: { code: "BOOL", bytes: 1, view: (...place) => new Uint8Array(...place) },
};
const DTYPES = Object.keys(STORED) as Dtype[];
const OF_CODE = new Map(DTYPES.map((dtype) => [STORED[dtype].code, dtype]));
const Entry = v.strictObject({
  dtype: v.picklist(DTYPES.map((dtype) => STORED[dtype].code)),
  shape: Shape,
  data_offsets: v.tuple([v.pipe(v.number(), v.integer(), v.minValue(0)), v.pipe(v.number(), v.integer())]),
});

export const countOf = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

export function float32(shape: readonly number[], data: Float32Array = new Float32Array(countOf(shape))): Tensor {
  return { dtype: "float32", shape, data };
}

/** `tensors` and `metadata` as safetensors; equal content gives equal bytes, whatever the order of the mappings. */
export function encodeTensors(
  tensors: ReadonlyMap<string, AnyTensor>,
  metadata: ReadonlyMap<string, string> = new Map(),
): Uint8Array<ArrayBuffer> {
  if (!LITTLE_ENDIAN) throw new Error("tensors are written on little-endian processors only");
  const order = [...tensors].sort(inFile);
  const bodies = order.map(([, { data }]) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return joined([headOf(order, metadata), ...bodies]);
}

/** The size of the tensor file that `data` begins with. Throws CodedError `tensors.malformed`. */
export function fileBytes(data: Uint8Array): number {
  const { body, entries } = readHead(data);
  return entries.reduce((end, { dtype, shape }) => end + countOf(shape) * STORED[dtype].bytes, body);
}

/**
 * The tensors and metadata of a file; the tensors are copies, so that they lie aligned.
 * Throws CodedError `tensors.malformed`.
 */
export function readTensors(file: Uint8Array): TensorFile {
  const { body, metadata, entries } = readHead(file);
  const tensors = new Map<string, AnyTensor>();
  let end = body;
  for (const { name, dtype, shape } of entries) {
    const bytes = countOf(shape) * STORED[dtype].bytes;
    if (end + bytes > file.length) throw malformed(`tensor ${name} ends after the file's ${file.length} bytes`);
    const data = STORED[dtype].view(file.slice(end, end + bytes).buffer, 0, countOf(shape));
    if (dtype === "bool" && data.some((value) => Number(value) > 1)) {
      throw malformed(`tensor ${name} holds a truth value that is neither 0 nor 1`);
    }
    tensors.set(name, { dtype, shape, data });
    end += bytes;
  }
  if (end !== file.length) throw malformed(`the tensors end at byte ${end} of ${file.length}`);
  if (!sameBytes(headOf([...tensors], metadata), file.subarray(0, body))) {
    throw malformed("the header is not as the platform writes it");
  }
  return { metadata, tensors };
}

/**
 * The tensors of a file, which must be exactly those `expected`, in that order.
 * Throws CodedError `tensors.malformed`, `tensors.wrong_shape` or `tensors.not_finite`.
 */
export function decodeTensors(file: Uint8Array, expected: readonly TensorSpec[]): ReadonlyMap<string, AnyTensor> {
  const { tensors } = readTensors(file);
  for (const spec of expected) {
    const found = tensors.get(spec.name);
    if (found?.dtype !== spec.dtype || `${found.shape}` !== `${spec.shape}`) {
      const here = found === undefined ? "missing" : `${found.dtype} [${found.shape}]`;
      throw new CodedError(
        "tensors.wrong_shape",
        `tensor ${spec.name} is ${here}, expected ${spec.dtype} [${spec.shape}]`,
      );
    }
  }
  if (tensors.size !== expected.length) {
    throw new CodedError("tensors.wrong_shape", `${tensors.size} tensors, expected ${expected.length}`);
  }
  checkFinite(tensors);
  return new Map(expected.map(({ name }) => [name, tensors.get(name) as AnyTensor]));
}

/** The same, where all of `expected` are float32. */
export function decodeFloats(file: Uint8Array, expected: readonly TensorSpec[]): Tensors {
  const found = decodeTensors(file, expected);
  if (expected.some(({ dtype }) => dtype !== "float32")) throw new CodedError("tensors.wrong_shape", "not all float32");
  return found as Tensors;
}

/** Throws CodedError `tensors.not_finite`, or with another `code`. */
export function checkFinite(tensors: ReadonlyMap<string, AnyTensor>, code = "tensors.not_finite"): void {
  for (const [name, { dtype, data }] of tensors) {
    if (dtype === "float32" && !(data as Float32Array).every(Number.isFinite)) {
      throw new CodedError(code, `tensor ${name} holds a number that is not finite`);
    }
  }
}

/** By code points, as Python sorts texts. */
export function byCodePoints(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let place = 0; place < Math.min(left.length, right.length); place++) {
    const apart = (left[place]?.codePointAt(0) ?? 0) - (right[place]?.codePointAt(0) ?? 0);
    if (apart !== 0) return apart;
  }
  return left.length - right.length;
}

interface Named {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
}

function readHead(file: Uint8Array): { body: number; metadata: ReadonlyMap<string, string>; entries: Named[] } {
  if (file.length < 8) throw malformed(`a file of ${file.length} bytes`);
  const size = new DataView(file.buffer, file.byteOffset).getBigUint64(0, true);
  if (size < 1n || size > BigInt(Math.min(file.length - 8, MAX_HEADER_BYTES))) {
    throw malformed(`a header of ${size} bytes in a file of ${file.length}; at most ${MAX_HEADER_BYTES} are read`);
  }
  const body = 8 + Number(size);
  let text: string;
  try {
    text = textOf(file.subarray(8, body));
  } catch {
    throw malformed("the header is not UTF-8");
  }
  const fields = checked(
    v.record(v.string(), v.unknown()),
    parsed(text, "tensors.malformed"),
    "tensors.malformed",
    "header",
  );
  let metadata: Record<string, string> = {};
  const entries: Named[] = [];
  for (const [name, field] of Object.entries(fields)) {
    if (name === METADATA) {
      metadata = checked(v.record(v.string(), v.string()), field, "tensors.malformed", "metadata");
    } else {
      const { dtype, shape } = checked(Entry, field, "tensors.malformed", `header of ${name}`);
      entries.push({ name, dtype: OF_CODE.get(dtype) as Dtype, shape });
    }
  }
  entries.sort((a, b) => DTYPES.indexOf(a.dtype) - DTYPES.indexOf(b.dtype) || byCodePoints(a.name, b.name));
  return { body, metadata: new Map(Object.entries(metadata)), entries };
}

function inFile([a, { dtype: x }]: [string, AnyTensor], [b, { dtype: y }]: [string, AnyTensor]): number {
  return DTYPES.indexOf(x) - DTYPES.indexOf(y) || byCodePoints(a, b);
}

/** Written by hand: an object would put names that are numbers first. */
function headOf(order: readonly [string, AnyTensor][], metadata: ReadonlyMap<string, string>): Uint8Array {
  const fields: string[] = [];
  if (metadata.size > 0) {
    const pairs = [...metadata].sort(([a], [b]) => byCodePoints(a, b));
    fields.push(
      `"${METADATA}":{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`,
    );
  }
  let end = 0;
  for (const [name, { dtype, shape }] of order) {
    const start = end;
    end += countOf(shape) * STORED[dtype].bytes;
    fields.push(
      `${JSON.stringify(name)}:{"dtype":"${STORED[dtype].code}","shape":[${shape}],"data_offsets":[${start},${end}]}`,
    );
  }
  const text = utf8(`{${fields.join(",")}}`);
  const padded = new Uint8Array(
    8 + text.length + ((ALIGNMENT_BYTES - (text.length % ALIGNMENT_BYTES)) % ALIGNMENT_BYTES),
  );
  padded.fill(32);
  new DataView(padded.buffer).setBigUint64(0, BigInt(padded.length - 8), true);
  padded.set(text, 8);
  return padded;
}

const malformed = (detail: string): CodedError => new CodedError("tensors.malformed", detail);
