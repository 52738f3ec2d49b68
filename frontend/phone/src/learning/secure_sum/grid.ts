/** Numbers of an update as whole numbers that all devices of a sum share the meaning of: a mirror of `coterie_learning.secure_sum.grid`. */
import { CodedError } from "../../wire/errors";
import { wholeNoise } from "../noise";
import { deriveSeed, randomBytes } from "../random";
import { hadamard, LARGEST_BLOCK, randomSigns } from "../rotation";
import { words } from "./vector";

/** Standard deviations of the longest sum that fit. */
const SPARE = 6;
/** Of the noise of one device, in whole numbers, at least. */
export const LEAST_DEVIATION = 4;
/** √(2·ln(1/β)), where rounding is done anew with a probability of β at most: 0.14. */
const ROUNDING_SLACK = 2;
const ROUNDINGS = 100;
const SMALLEST_BLOCK = 64;
const FEW_BLOCKS = 16;
const TURNS = [0, 1] as const;

export interface GridTerms {
  /** Numbers of an update. */
  readonly parameters: number;
  readonly bits: number;
  /** Of an update, at most. */
  readonly norm: number;
  readonly members: number;
  /** Of the rotation, the same for all. */
  readonly seed: number;
  /** What devices add together: standard deviation in sensitivities, and how many add their share at least. */
  readonly noise: { readonly multiplier: number; readonly honest: number } | null;
}

export class Grid {
  /** Numbers that are rotated together: a power of two. */
  readonly block: number;
  readonly blocks: number;
  /** Numbers of the rotated vector: those of the update, filled up. */
  readonly length: number;
  /** What the largest norm is in whole numbers. */
  private readonly levels: number;

  /** Throws CodedError `secure_sum.too_few_bits`. */
  constructor(private readonly terms: GridTerms) {
    const few = Math.max(1, Math.floor(terms.parameters / FEW_BLOCKS));
    this.block = Math.min(LARGEST_BLOCK, Math.max(SMALLEST_BLOCK, 2 ** Math.floor(Math.log2(few))));
    this.blocks = Math.max(1, Math.ceil(terms.parameters / this.block));
    this.length = this.block * this.blocks;
    this.levels = this.levelsOf();
  }

  /** What the whole number 1 stands for. */
  get step(): number {
    return this.terms.norm / this.levels;
  }

  /** Of the noise that one device adds, in whole numbers; 0 without noise. */
  get deviation(): number {
    const { noise } = this.terms;
    const sensitivity = Math.sqrt(this.square(this.levels));
    return noise === null ? 0 : (noise.multiplier * sensitivity) / Math.sqrt(noise.honest);
  }

  /**
   * `numbers` times `weight`, rotated, rounded and with noise from `key`, which nobody else may learn, modulo 2^bits.
   * Throws CodedError `update.out_of_range`.
   */
  rounded(numbers: Float32Array, weight: number, seed: number, key: bigint): Uint16Array | Uint32Array {
    const factor = weight / (this.step * this.block);
    const rotated = Float64Array.from(this.rotated(numbers), (one) => one * factor);
    if (this.terms.noise === null) return this.modulo(this.floor(rotated, seed, 0));
    const noise = wholeNoise(this.deviation, key, "sum", this.length);
    return this.modulo(this.conditionallyRounded(rotated, seed).map((level, at) => level + (noise[at] as number)));
  }

  /** Rounded anew until the norm is at most what noise is measured against. */
  private conditionallyRounded(rotated: Float64Array, seed: number): Float64Array {
    const most = this.square(this.levels);
    for (let attempt = 0; attempt < ROUNDINGS; attempt++) {
      const levels = this.floor(rotated, seed, attempt);
      if (levels.reduce((sum, level) => sum + level * level, 0) <= most) return levels;
    }
    throw new CodedError("update.out_of_range", `the update is longer than ${this.terms.norm}`);
  }

  private floor(rotated: Float64Array, seed: number, attempt: number): Float64Array {
    const bytes = randomBytes(4 * this.length, seed, "rounding", attempt);
    const drawn = new DataView(bytes.buffer, bytes.byteOffset);
    return rotated.map((one, at) => Math.floor(one + drawn.getUint32(4 * at, true) * 2 ** -32));
  }

  /** c, for which variances of m updates alike, of rounding, and of noise add up to what fits. */
  private levelsOf(): number {
    const { bits, members, noise } = this.terms;
    const { length } = this;
    let room = (2 ** (bits - 1) / SPARE) ** 2 - members / 4;
    const share = noise === null ? 0 : (noise.multiplier ** 2 * members) / noise.honest;
    const [square, slope] = [members ** 2 / length + share, share * ROUNDING_SLACK];
    room -= share * (length / 4 + (ROUNDING_SLACK * Math.sqrt(length)) / 2);
    if (room <= 0) throw tooFewBits(`numbers of ${bits} bits do not hold the sum of ${members} devices`);
    const found = (Math.sqrt(slope ** 2 + 4 * square * room) - slope) / (2 * square);
    if (noise !== null && this.square(found) < ((LEAST_DEVIATION * Math.sqrt(noise.honest)) / noise.multiplier) ** 2) {
      throw tooFewBits(`in numbers of ${bits} bits the noise of one device is below ${LEAST_DEVIATION.toFixed(1)}`);
    }
    return found;
  }

  /** Of the norm after conditional rounding, at most, where it was `levels` before. */
  private square(levels: number): number {
    return levels ** 2 + (this.length / 4 + ROUNDING_SLACK * (levels + Math.sqrt(this.length) / 2));
  }

  private rotated(numbers: Float32Array): Float32Array {
    let found = new Float32Array(this.length);
    found.set(numbers);
    for (const turn of TURNS) {
      const stride = this.stride(turn);
      const before = found;
      found = Float32Array.from({ length: this.length }, (_, at) => before[(at * stride) % this.length] as number);
      for (let index = 0; index < this.blocks; index++) {
        const one = found.subarray(index * this.block, (index + 1) * this.block);
        const signs = randomSigns(this.block, this.terms.seed, turn * this.blocks + index);
        for (const [at, sign] of signs.entries()) one[at] = (one[at] as number) * sign;
        hadamard(one);
      }
    }
    return found;
  }

  /** Between places that follow one another, so that they are spread over all blocks. */
  private stride(turn: number): number {
    let stride = deriveSeed(this.terms.seed, "order", turn) % this.length;
    while (divisor(stride, this.length) > 1) stride += 1;
    return stride;
  }

  private modulo(levels: Float64Array): Uint16Array | Uint32Array {
    const whole = 2 ** this.terms.bits;
    const found = words(this.terms.bits, this.length);
    for (const [at, level] of levels.entries()) found[at] = ((level % whole) + whole) % whole;
    return found;
  }
}

/** The greatest that divides both. */
const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

const tooFewBits = (detail: string): CodedError => new CodedError("secure_sum.too_few_bits", detail);
