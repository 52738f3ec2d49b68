/** Prediction, and the loss and accuracy on samples: a mirror of `coterie_agent.training.predictor`. */
import { makeBatch, type Sample } from "../learning/batches";
import { isMeasured, predictInputs, predictOutputs, targetsOf, versionNames } from "../learning/contract";
import { type Measured, measure } from "../learning/metrics";
import type { ModelSpec } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import type { AnyTensor, Tensors } from "../wire/tensors";
import { Graph } from "./graph";

const ROWS = 32;

export interface Measure {
  /** Mean of the samples' losses. */
  readonly loss: number;
  /** Share that is right; null where the task has no right and wrong. */
  readonly accuracy: number | null;
}

interface Ran {
  readonly output: Float32Array;
  readonly own: Float32Array | null;
  readonly target: AnyTensor;
}

export type LoadSamples = (ids: readonly number[]) => Promise<readonly Sample[]>;

export class Predictor {
  private constructor(
    private readonly graph: Graph,
    private readonly model: ModelSpec,
    private readonly frozen: ReadonlyMap<string, AnyTensor>,
    /** What the graph calls each tensor of a version; a graph that holds its parameters takes none. */
    private readonly roles: ReadonlyMap<string, string>,
    private readonly takesTarget: boolean,
  ) {}

  /** Throws CodedError `model.contract` or `model.broken`. */
  static async open(content: Uint8Array, model: ModelSpec, frozen: ReadonlyMap<string, AnyTensor>): Promise<Predictor> {
    const graph = await Graph.open(content, predictInputs(model), predictOutputs(model));
    return new Predictor(graph, model, frozen, versionNames(model), model.own_loss === true);
  }

  /**
   * A form of a version whose graph holds its parameters; it gives outputs, of no version, and measures nothing. Throws
   * as `open` does.
   */
  static async alone(content: Uint8Array, model: ModelSpec): Promise<Predictor> {
    const graph = await Graph.open(content, new Set(model.inputs.map(({ name }) => name)), [model.output.name]);
    return new Predictor(graph, model, new Map(), new Map(), false);
  }

  /**
   * Mean loss of `version` over the samples `lossOf`, and accuracy over their part `accuracyOf`; null if `stop` said so.
   * Throws CodedError `agent.diverged`, `data.does_not_fit` or `model.broken`.
   */
  async measure(
    version: Tensors,
    load: LoadSamples,
    given: { lossOf: readonly number[]; accuracyOf: readonly number[]; stop: () => boolean },
  ): Promise<Measure | null> {
    const counted = new Set(given.accuracyOf);
    let [loss, right, seen, judged] = [0, 0, 0, 0];
    for (let start = 0; start < given.lossOf.length; start += ROWS) {
      if (given.stop()) return null;
      const rows = await load(given.lossOf.slice(start, start + ROWS));
      const found = await this.measured(version, rows);
      seen += rows.length;
      for (const [at, { id }] of rows.entries()) {
        loss += found.losses[at] as number;
        if (found.right !== null && counted.has(id)) {
          judged += 1;
          right += found.right[at] as number;
        }
      }
    }
    if (!Number.isFinite(loss)) {
      const detail = "the model's loss on the device's samples is not finite; the plan's learning rate may be too high";
      throw new CodedError("agent.diverged", detail);
    }
    return {
      loss: loss / Math.max(seen, 1),
      accuracy: isMeasured(this.model) ? right / Math.max(judged, 1) : null,
    };
  }

  /** The figures of each of the samples `ids`; null if `stop` said so. Throws as `measure` does, but for losses. */
  async each(
    version: Tensors,
    load: LoadSamples,
    ids: readonly number[],
    stop: () => boolean,
  ): Promise<Measured | null> {
    const losses: number[] = [];
    const right: number[] = [];
    for (let start = 0; start < ids.length; start += ROWS) {
      if (stop()) return null;
      const found = await this.measured(version, await load(ids.slice(start, start + ROWS)));
      losses.push(...found.losses);
      right.push(...(found.right ?? []));
    }
    return { losses, right: isMeasured(this.model) ? right : null };
  }

  /** The model's output for each of the samples, flattened. Throws CodedError `data.does_not_fit` or `model.broken`. */
  async outputs(version: Tensors, xs: readonly Float32Array[]): Promise<number[][]> {
    const found: number[][] = [];
    for (let start = 0; start < xs.length; start += ROWS) {
      const part = xs.slice(start, start + ROWS);
      const rows = part.map((x, id): Sample => ({ id, x, label: 0, target: new Float32Array(targetsOf(this.model)) }));
      const { output } = await this.run(version, rows);
      const width = output.length / rows.length;
      for (const at of rows.keys()) found.push([...output.subarray(at * width, (at + 1) * width)]);
    }
    return found;
  }

  async close(): Promise<void> {
    await this.graph.close();
  }

  private async measured(version: Tensors, rows: readonly Sample[]): Promise<Measured> {
    const { output, own, target } = await this.run(version, rows);
    return measure(this.model, rows.length, output, target.data, own);
  }

  private async run(version: Tensors, rows: readonly Sample[]): Promise<Ran> {
    const { model } = this;
    const batch = makeBatch(rows, model, rows.length);
    const feeds = new Map<string, AnyTensor>([
      ...batch.inputs,
      ...(this.takesTarget ? ([[model.target.name, batch.target]] as const) : []),
      ...[...this.roles].map(([name, role]): [string, AnyTensor] => [role, version.get(name) as AnyTensor]),
      ...this.frozen,
    ]);
    const outputs = await this.graph.run(feeds);
    const [output, own] = [...outputs.values()].map(({ data }) => data as Float32Array);
    return { output: output as Float32Array, own: own ?? null, target: batch.target };
  }
}
