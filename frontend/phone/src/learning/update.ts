/** From trained parameters to the uploaded bytes and the new device state: `coterie_learning.client.update`. */
import { gathered, type ModelSpec } from "../wire/bundle";
import { joined } from "../wire/bytes";
import { encodeTensors, float32, type Tensor, type Tensors } from "../wire/tensors";
import type { DevicePlan } from "./plan";

export interface Update {
  readonly payload: Uint8Array;
  /** What the codec lost, which replaces the device's state once the platform has accepted the update. */
  readonly residual: Tensors;
}

/** The part of an update that every kind sends. */
const DELTA = "delta";

/**
 * What training changed, plus what the codec lost of the last accepted update (`lost`, by `delta.NAME`); `secret` is drawn
 * by the device and known to nobody else: noise that others could draw again hides nothing from them.
 * Throws CodedError `update.not_finite`.
 */
export function makeUpdate(
  received: Tensors,
  trained: Tensors,
  given: { plan: DevicePlan; model: ModelSpec; lost: Tensors | null; seed: number; secret: bigint },
): Update {
  const { plan, model, seed, secret } = given;
  const lost = fits(given.lost, model) ? given.lost : null;
  const delta = new Map<string, Tensor>();
  for (const { name, shape } of model.parameters) {
    const [before, after] = [of(received, name), of(trained, name)];
    const residual = lost?.get(`${DELTA}.${name}`)?.data;
    const change = after.map((number, at) => number - (before[at] as number));
    const data = residual === undefined ? change : change.map((number, at) => number + (residual[at] as number));
    delta.set(`${DELTA}.${name}`, float32(shape, data));
  }
  const hidden = new Map(
    [...plan.privacy.protect(delta, secret)].map(([name, tensor]) => [name.slice(DELTA.length + 1), tensor]),
  );
  const { payload, residual } = plan.codec.encode(hidden, seed);
  const statistics = new Map(gathered(model).map(({ name, shape }) => [name, float32(shape, of(trained, name))]));
  return {
    payload: joined([...(statistics.size > 0 ? [encodeTensors(statistics)] : []), payload]),
    residual: new Map([...residual].map(([name, tensor]) => [`${DELTA}.${name}`, tensor])),
  };
}

function fits(lost: Tensors | null, model: ModelSpec): boolean {
  return (
    lost?.size === model.parameters.length &&
    model.parameters.every(({ name, shape }) => `${lost.get(`${DELTA}.${name}`)?.shape}` === `${shape}`)
  );
}

function of(tensors: Tensors, name: string): Float32Array {
  const found = tensors.get(name);
  if (found === undefined) throw new Error(`a version without its tensor ${name}`);
  return found.data;
}
