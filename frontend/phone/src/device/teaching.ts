/**
 * The cloud model's probabilities for the device's samples: it is downloaded, and run once on each (stage 3 of Colla, Lu
 * et al. 2019, SEC). A mirror of `coterie_agent.training.teaching`.
 */
import {
  modelOf,
  partsOfTeacher,
  restoreWeights,
  storedProbabilities,
  type Teacher,
  taught,
  uniform,
} from "../learning/teacher";
import type { ModelSpec } from "../wire/bundle";
import type { ReadPart } from "./opened";
import { Predictor } from "./predictor";
import type { Store } from "./store";

/** Samples that the teacher is run on at once; its answers are kept before the next batch. */
const ROWS = 32;
/** Free space, in bytes, below which the teacher is removed after use. */
const SPARE_BYTES = 256 << 20;

export interface GivenTeacher {
  readonly teacher: Teacher;
  readonly store: Pick<Store, "unasked" | "keepTaught" | "taught" | "load" | "dropBlobs">;
  readonly part: ReadPart;
  /** Download the teacher; false if training must pause before. */
  readonly fetch: () => Promise<boolean>;
  /** SHA-256 of the parts of the device's model, which may share a graph with the teacher; they stay. */
  readonly ownParts: ReadonlySet<string>;
  /** In bytes; null where the browser does not tell. */
  readonly free: () => Promise<number | null>;
}

export class Teaching {
  constructor(private readonly given: GivenTeacher) {}

  /**
   * Keep the teacher's answers about all samples `ids`, for a device that learns `model`; false if `stop` said so before:
   * it goes on from there. Throws CodedError `bundle.*`, `model.*`, `tensors.*` or `data.does_not_fit`.
   */
  async ask(ids: readonly number[], model: ModelSpec, stop: () => boolean): Promise<boolean> {
    const { teacher, store } = this.given;
    const spec = modelOf(teacher, model);
    const unasked = await store.unasked(teacher.version, ids);
    if (unasked.length === 0) return true;
    if (!(await this.given.fetch())) return false;
    if (!(await this.run(unasked, spec, stop))) return false;
    const free = await this.given.free();
    if (free !== null && free < SPARE_BYTES) {
      const hashes = partsOfTeacher(teacher).map(({ sha256 }) => sha256);
      await store.dropBlobs(...hashes.filter((sha256) => !this.given.ownParts.has(sha256)));
    }
    return true;
  }

  /** Its answers about `ids` [samples, all classes], flattened, as if there were only `classes`, where any are named. */
  async probabilities(ids: readonly number[], classes: readonly number[]): Promise<Float32Array> {
    const { store, teacher } = this.given;
    const kept = await Promise.all(ids.map((id) => store.taught(teacher.version, id)));
    return taught(
      kept.map((one) => one ?? uniform(teacher.classes)),
      classes,
    );
  }

  private async run(ids: readonly number[], spec: ModelSpec, stop: () => boolean): Promise<boolean> {
    const { teacher, store, part } = this.given;
    const weights = restoreWeights(await part(teacher.weights.sha256), teacher.parameters);
    const predictor = await Predictor.open(await part(teacher.predict.sha256), spec, new Map());
    try {
      for (let start = 0; start < ids.length; start += ROWS) {
        if (stop()) return false;
        const rows = await store.load(ids.slice(start, start + ROWS));
        if (rows.length === 0) continue;
        const outputs = await predictor.outputs(
          weights,
          rows.map(({ x }) => x),
        );
        const { version } = teacher;
        await store.keepTaught(
          rows.map(({ id }, at) => ({
            sample: id,
            version,
            probabilities: storedProbabilities(outputs[at] as readonly number[]),
          })),
        );
      }
      return true;
    } finally {
      await predictor.close();
    }
  }
}
