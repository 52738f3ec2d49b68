/** From one device's update and what it measured to the vector that is summed: a mirror of `coterie_learning.contribution`. */
import { gathered, type ModelSpec } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import { countOf, encodeTensors, fileBytes, readTensors, type Tensors } from "../wire/tensors";
import { updateSpecs } from "./heads";
import type { Scope } from "./local/interface";
import { rint } from "./noise";
import type { Masking } from "./privacy/masking";
import { honestOf } from "./secure_sum/graph";
import { Grid } from "./secure_sum/grid";
import type { Vector } from "./secure_sum/vector";

const FULL_WEIGHT_BITS = 10;
/** Losses, statistics and the numbers beside an update are below two to the power of it. */
const LARGEST_BITS = 20;
const WORD_BITS = 62;

/** What a device measured while it made an update. */
export interface Measured {
  readonly samples: number;
  readonly lossBefore: number;
  readonly lossAfter: number;
  readonly accuracyBefore: number | null;
}

/** What the vectors of a sum are made of, the same for all of its devices. */
export interface Contents {
  readonly model: ModelSpec;
  /** What of it the plan trains. */
  readonly scope: Scope;
  readonly masking: Masking;
  /** Of the list. */
  readonly members: number;
  /** Of the rotation. */
  readonly seed: number;
}

/** The update as it was spooled, under codec float32. */
export interface Parts {
  /** In the order in which they travel; each has one tensor a parameter. */
  readonly parts: readonly Tensors[];
  /** What the plan's kind of local training sends beside them. */
  readonly scalars: ReadonlyMap<string, number>;
  readonly statistics: Tensors;
}

/** The parts of the update in `payload`. Throws CodedError `tensors.malformed` or `update.wrong_codec`. */
export function partsOf(payload: Uint8Array, model: ModelSpec): Parts {
  const specs = gathered(model);
  const zeros = new Map(
    specs.map(
      ({ name, shape }) => [name, { dtype: "float32", shape, data: new Float32Array(countOf(shape)) }] as const,
    ),
  );
  const end = specs.length === 0 ? 0 : encodeTensors(zeros).length;
  const parts: Tensors[] = [];
  const scalars = new Map<string, number>();
  for (let rest = payload.subarray(end); rest.length > 0; ) {
    const size = fileBytes(rest);
    const { tensors, metadata } = readTensors(rest.subarray(0, size));
    const codec = metadata.get("codec");
    if (codec === undefined && parts.length > 0) {
      for (const [name, { data }] of tensors) scalars.set(name, Number(data[0]));
    } else if (codec === '{"kind":"float32"}') {
      parts.push(tensors as Tensors);
    } else {
      throw new CodedError("update.wrong_codec", "sums have one grid: the plan's codec must be float32");
    }
    rest = rest.subarray(size);
  }
  const statistics = end === 0 ? new Map() : readTensors(payload.subarray(0, end)).tensors;
  return { parts, scalars, statistics: statistics as Tensors };
}

/**
 * What the device of `update` adds to the sum; `base` are the tensors of the version it began with. The same for the
 * same `seed` and `key`; noise, where there is any, is drawn from the key, which never leaves the device.
 * Throws CodedError `update.out_of_range`, or `secure_sum.*`.
 */
export function vectorOf(
  contents: Contents,
  update: Parts,
  measured: Measured,
  base: Tensors,
  { seed, key }: { seed: number; key: bigint },
): Vector {
  const { model, scope, masking } = contents;
  const weight = weightOf(masking, measured.samples);
  const specs = updateSpecs(model, scope, []);
  const numbers = update.parts.flatMap((part) => specs.map(({ name }) => dataOf(part, name)));
  const whole = new Float32Array(numbers.reduce((count, { length }) => count + length, 0));
  let end = 0;
  for (const one of numbers) {
    whole.set(one, end);
    end += one.length;
  }
  const tail = [
    BigInt(weight),
    ...(masking.noiseMultiplier === null ? measuredOf(contents, update, measured, base, weight) : []),
  ];
  return {
    bits: masking.bits,
    numbers: gridOf(contents, whole.length).rounded(whole, weight / 2 ** FULL_WEIGHT_BITS, seed, key),
    tail: BigUint64Array.from(tail, (one) => BigInt.asUintN(64, one)),
  };
}

function gridOf({ masking, members, seed }: Contents, parameters: number): Grid {
  const { terms, bits, norm, noiseMultiplier: multiplier } = masking;
  const noise = multiplier === null ? null : { multiplier, honest: honestOf(terms, members) };
  return new Grid({ parameters, bits, norm, members, seed, noise });
}

/** By what an update of so many samples counts, at least 1, where one that counts in full has 2^`FULL_WEIGHT_BITS`. */
function weightOf({ fullSamples }: Masking, samples: number): number {
  const full = 2 ** FULL_WEIGHT_BITS;
  return fullSamples === null ? full : Math.max(1, Math.floor((Math.min(samples, fullSamples) * full) / fullSamples));
}

/** Samples, figures, the numbers beside the update and running statistics. */
function measuredOf(
  { model, masking, members }: Contents,
  { statistics, scalars }: Parts,
  { samples, lossBefore, lossAfter, accuracyBefore }: Measured,
  base: Tensors,
  weight: number,
): bigint[] {
  const room = members.toString(2).length;
  const places = WORD_BITS - LARGEST_BITS - FULL_WEIGHT_BITS - room;
  const most = masking.fullSamples ?? 2 ** (WORD_BITS - room);
  const figures = [lossBefore, lossAfter, accuracyBefore ?? 0, Number(accuracyBefore !== null)];
  const moments = model.statistics.flatMap(({ mean, variance }) => {
    const [found, before, squares] = [
      dataOf(statistics, mean.name),
      dataOf(base, mean.name),
      dataOf(statistics, variance.name),
    ];
    const shift = Array.from(found, (one, at) => one - (before[at] as number));
    return [...shift, ...shift.map((one, at) => (squares[at] as number) + one * one)];
  });
  const plain = (one: number): bigint => fixed(one, places, "a loss or a running statistic");
  const beside = [...scalars.keys()].sort();
  const raised = (name: string): bigint =>
    fixed(scalars.get(name) as number, places, `one of ${beside.join(", ")}`, Math.ceil);
  return [
    BigInt(Math.min(samples, most)),
    ...[...figures.map(plain), ...beside.map(raised), ...moments.map(plain)].map((one) => one * BigInt(weight)),
  ];
}

function fixed(number: number, places: number, what: string, rounded = rint): bigint {
  if (!(Math.abs(number) < 2 ** LARGEST_BITS)) {
    throw new CodedError("update.out_of_range", `${what} is not below ${2 ** LARGEST_BITS}`);
  }
  return BigInt(rounded(number * 2 ** places));
}

function dataOf(tensors: Tensors, name: string): Float32Array {
  const found = tensors.get(name);
  if (found === undefined) throw new CodedError("update.malformed", `no tensor ${name}`);
  return found.data;
}
