/** From trained parameters to the uploaded bytes and the new device state: `coterie_learning.client.update`. */
import { gathered, type ModelSpec } from "../wire/bundle";
import { joined } from "../wire/bytes";
import { encodeTensors, float32, type Tensor, type Tensors } from "../wire/tensors";
import { pick, place } from "./heads";
import type { DevicePlan } from "./plan";

export interface Update {
  readonly payload: Uint8Array;
  /** What the codec lost, which replaces the device's state once the platform has accepted the update; empty where it feeds nothing back. */
  readonly residual: Tensors;
}

export interface GivenUpdate {
  readonly plan: DevicePlan;
  readonly model: ModelSpec;
  /** What the codec lost of the last accepted update, by `delta.NAME`. */
  readonly lost: Tensors | null;
  readonly seed: number;
  /** Drawn by the device and known to nobody else: noise that others could draw again hides nothing from them. */
  readonly secret: bigint;
  /** Those whose rows of a customised output layer are trained; empty where it has all. */
  readonly classes: readonly number[];
  /** How many steps were done. */
  readonly steps: number;
  /** Of the received parameters, where the kind of local training wants to know it. */
  readonly loss: number | null;
}

/** The part of an update that every kind sends. */
const DELTA = "delta";

/**
 * What training changed, of what the plan trains, plus what the codec lost of the last accepted update.
 * Throws CodedError `update.not_finite` or `plan.no_head`.
 */
export function makeUpdate(received: Tensors, trained: Tensors, given: GivenUpdate): Update {
  const { plan, model, seed, secret, classes, steps, loss } = given;
  const { feedsBack } = plan.codec;
  const lost = feedsBack && fits(given.lost, model) ? given.lost : null;
  const delta = new Map(
    model.parameters.map(({ name, shape }): [string, Tensor] => {
      const [before, after] = [of(received, name), of(trained, name)];
      const change = after.map((number, at) => number - (before[at] as number));
      return [name, float32(shape, change)];
    }),
  );
  const ended = plan.local.end({ delta, steps, loss });
  const whole = lost === null ? ended.delta : withLost(ended.delta, lost);
  const picked = called(pick(whole, model, plan.local.scope, classes));
  const hidden = new Map(
    [...plan.privacy.protect(picked, secret)].map(([name, tensor]) => [name.slice(DELTA.length + 1), tensor]),
  );
  const { payload, residual } = plan.codec.encode(hidden, seed);
  const statistics = new Map(gathered(model).map(({ name, shape }) => [name, float32(shape, of(trained, name))]));
  const scalars = new Map(
    [...ended.scalars].map(([name, number]): [string, Tensor] => [name, float32([], Float32Array.of(number))]),
  );
  return {
    payload: joined([...fileOf(statistics), payload, ...fileOf(scalars)]),
    residual: feedsBack ? called(place(residual, model, classes)) : new Map(),
  };
}

/** None of no tensors. */
const fileOf = (tensors: Tensors): Uint8Array[] => (tensors.size > 0 ? [encodeTensors(tensors)] : []);

const withLost = (delta: Tensors, lost: Tensors): Tensors =>
  new Map(
    [...delta].map(([name, { shape, data }]): [string, Tensor] => {
      const residual = of(lost, `${DELTA}.${name}`);
      return [
        name,
        float32(
          shape,
          data.map((number, at) => number + (residual[at] as number)),
        ),
      ];
    }),
  );

const called = (tensors: Tensors): Tensors =>
  new Map([...tensors].map(([name, tensor]) => [`${DELTA}.${name}`, tensor]));

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
