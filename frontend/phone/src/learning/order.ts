/** Which samples are for training and which for evaluation, and the order of training: `coterie_learning.client.order`. */
import { epochOrder } from "./random";

export interface SampleSplit {
  readonly train: readonly number[];
  readonly heldOut: readonly number[];
}

const HELD_OUT_SHARE = 0.2;
const FEWEST_TO_SPLIT = 10;
const MULTIPLIER = 11400714819323198485n;

/** Hold out a `share`, always the same samples; of fewer than ten none, and all serve both purposes. */
export function split(ids: readonly number[], share = HELD_OUT_SHARE): SampleSplit {
  if (ids.length < FEWEST_TO_SPLIT) return { train: ids, heldOut: ids };
  const isHeldOut = (id: number): boolean =>
    Number(BigInt.asUintN(64, BigInt(id) * MULTIPLIER) >> 32n) < share * 2 ** 32;
  const heldOut = ids.filter(isHeldOut);
  if (heldOut.length === 0 || heldOut.length === ids.length) return { train: ids, heldOut: ids };
  return { train: ids.filter((id) => !isHeldOut(id)), heldOut };
}

export const stepsPerEpoch = (samples: number, batchSize: number): number => Math.ceil(samples / batchSize);

/** The samples of each optimisation step (0-based); the order of the latest epoch is kept. */
export class BatchOrder {
  private epoch = -1;
  private order: readonly number[] = [];

  constructor(
    private readonly train: readonly number[],
    private readonly seed: number,
    private readonly batchSize: number,
  ) {}

  ids(step: number): number[] {
    const each = stepsPerEpoch(this.train.length, this.batchSize);
    const [epoch, part] = [Math.floor(step / each), step % each];
    if (epoch !== this.epoch) {
      this.order = epochOrder(this.train.length, this.seed, epoch);
      this.epoch = epoch;
    }
    const places = this.order.slice(part * this.batchSize, (part + 1) * this.batchSize);
    return places.map((place) => this.train[place] as number);
  }
}
