/** The parts of a version that the device holds, read and ready to run. */
import { readVersion } from "../learning/client_round";
import { trainInputs, trainOutputs } from "../learning/contract";
import type { Manifest } from "../wire/bundle";
import { type AnyTensor, decodeTensors, type Tensors } from "../wire/tensors";
import { Graph } from "./graph";
import { Predictor } from "./predictor";

/** The bytes of a part of the version. */
export type ReadPart = (sha256: string) => Promise<Uint8Array>;

export interface Opened {
  readonly frozen: ReadonlyMap<string, AnyTensor>;
  readonly received: Tensors;
  /** Of the train step. */
  readonly graph: Graph;
  readonly predictor: Predictor;
}

/** What of the model is not trained. Throws CodedError `tensors.*`. */
export async function frozenOf({ frozen, model }: Manifest, part: ReadPart): Promise<ReadonlyMap<string, AnyTensor>> {
  return frozen === null ? new Map() : decodeTensors(await part(frozen.sha256), model.frozen);
}

/** What `use` gives of the open version, which is closed then. Throws CodedError `model.*` or `tensors.*`, and what `use` throws. */
export async function withOpened<T>(
  manifest: Manifest,
  part: ReadPart,
  use: (opened: Opened) => Promise<T>,
): Promise<T> {
  const { model } = manifest;
  const frozen = await frozenOf(manifest, part);
  const received = readVersion(await part(manifest.parameters.sha256), model);
  const graph = await Graph.open(await part(manifest.train_step.sha256), trainInputs(model), trainOutputs(model));
  try {
    const predictor = await Predictor.open(await part(manifest.predict.sha256), model, frozen);
    try {
      return await use({ frozen, received, graph, predictor });
    } finally {
      await predictor.close();
    }
  } finally {
    await graph.close();
  }
}
