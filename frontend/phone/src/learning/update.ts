/** From trained parameters to the uploaded bytes and the new device states: `coterie_learning.client.update`. */
import { gathered, type ModelSpec } from "../wire/bundle";
import { joined } from "../wire/bytes";
import { type AnyTensor, encodeTensors, float32, type Tensor, type Tensors } from "../wire/tensors";
import type { Encoded } from "./codec";
import { NO_STATE, type State } from "./device_state";
import { pick, place, type Travelling } from "./heads";
import { type Broadcast, combined, type Parts } from "./local/interface";
import type { DevicePlan } from "./plan";
import { partSeed } from "./random";
import { chosen, drawOf, pickChosen, placeChosen } from "./subsets";

/** What a device remembers from one accepted update to the next. */
export interface States {
  /** Of the kind of local training. */
  readonly local: State;
  /** What the codec lost, by `PART.NAME`. */
  readonly codec: State;
}

export const NO_STATES: States = { local: NO_STATE, codec: NO_STATE };

export interface Update {
  readonly payload: Uint8Array;
  /** What replaces the device's states once the platform has accepted the update. */
  readonly states: States;
}

export interface GivenUpdate {
  readonly plan: DevicePlan;
  readonly model: ModelSpec;
  readonly states: States;
  readonly seed: number;
  /** Drawn by the device and known to nobody else: noise that others could draw again hides nothing from them. */
  readonly secret: bigint;
  /** Those whose rows of a customised output layer are trained; empty where it has all. */
  readonly classes: readonly number[];
  /** How many steps were done. */
  readonly steps: number;
  /** Of the received parameters, where the kind of local training wants to know it. */
  readonly loss: number | null;
  /** What came with the received parameters; left out: nothing. */
  readonly broadcast?: Omit<Broadcast, "received">;
}

/**
 * The parts that the plan's kind of local training computes, of what the plan trains, plus what the codec lost of the last
 * accepted update. Throws CodedError `update.not_finite` or `plan.no_head`.
 */
export function makeUpdate(received: Tensors, trained: Tensors, given: GivenUpdate): Update {
  const { plan, model, states, seed, secret, classes, steps, loss } = given;
  const { local, codec } = plan;
  const [before, after] = [received, trained].map((one) => parametersOf(one, model)) as [Tensors, Tensors];
  const broadcast = { server: new Map(), round: 0, ...given.broadcast, received: before };
  const delta = combined(after, before, (number, other) => number - other);
  const ended = local.end(broadcast, { delta, steps, loss }, states.local);
  const travelling: Travelling = { model, scope: local.scope, classes, draw: drawOf(seed) };
  const names = [...ended.parts.keys()];
  const lost = codec.feedsBack && fits(states.codec.tensors, names, model) ? states.codec.tensors : null;
  const picked = [...ended.parts].map(([part, tensors]) => {
    const whole = lost === null ? tensors : combined(tensors, partOf(lost, part), (number, more) => number + more);
    return called(part, pick(whole, travelling));
  });
  const hidden = plan.privacy.protect(new Map(picked.flatMap((one) => [...one])), secret);
  const encoded = names.map((part, at) => codec.encode(partOf(hidden, part), partSeed(seed, at)));
  const sent = (): Parts => new Map(encoded.map((one, at) => [names[at] as string, place(one.sent(), travelling)]));
  const residual = encoded.flatMap((one, at) => {
    const part = names[at] as string;
    return [...called(part, unsent(one, travelling, lost === null ? null : partOf(lost, part)))];
  });
  const statistics = gathered(model).map(({ name }): [string, Tensor] => [name, of(trained, name)]);
  return {
    payload: joined([
      ...fileOf(new Map(statistics)),
      ...encoded.map(({ payload }) => payload),
      ...fileOf(new Map([...ended.scalars].map(([name, one]) => [name, float32([], Float32Array.of(one))]))),
      ...(local.scope.share < 1 ? [drawFile(travelling.draw)] : []),
    ]),
    states: {
      local: local.remember(ended, sent),
      codec: { tensors: new Map(codec.feedsBack ? residual : []), values: {} },
    },
  };
}

/** None of no tensors. */
const fileOf = (tensors: Tensors): Uint8Array[] => (tensors.size > 0 ? [encodeTensors(tensors)] : []);

/** What tells a random subset, as the last part of an update. */
function drawFile(draw: number): Uint8Array {
  const subset: AnyTensor = { dtype: "int64", shape: [], data: BigInt64Array.of(BigInt(draw)) };
  return encodeTensors(new Map([["subset", subset]]));
}

/** What the encoding has lost, and what was lost `before` of the parameters that were not chosen this time. */
function unsent({ residual }: Encoded, travelling: Travelling, before: Tensors | null): Tensors {
  const rest = place(residual, travelling);
  const { scope, draw } = travelling;
  if (before === null || scope.share === 1) return rest;
  const specs = [...rest].map(([name, { shape }]) => ({ name, shape: [...shape] }));
  const positions = chosen(specs, scope.share, draw);
  return placeChosen(pickChosen(rest, positions), positions, before);
}

const called = (part: string, tensors: Tensors): Tensors =>
  new Map([...tensors].map(([name, tensor]) => [`${part}.${name}`, tensor]));

/** Those that are `called` so. */
const partOf = (tensors: Tensors, part: string): Tensors =>
  new Map(
    [...tensors].flatMap(([name, tensor]) =>
      name.startsWith(`${part}.`) ? [[name.slice(part.length + 1), tensor] as const] : [],
    ),
  );

/** Whether it is of these parts, and of parameters of the same shapes. */
function fits(lost: Tensors, parts: readonly string[], { parameters }: ModelSpec): boolean {
  return (
    lost.size === parts.length * parameters.length &&
    parts.every((part) => parameters.every(({ name, shape }) => `${lost.get(`${part}.${name}`)?.shape}` === `${shape}`))
  );
}

const parametersOf = (tensors: Tensors, { parameters }: ModelSpec): Tensors =>
  new Map(parameters.map(({ name }) => [name, of(tensors, name)]));

function of(tensors: Tensors, name: string): Tensor {
  const found = tensors.get(name);
  if (found === undefined) throw new Error(`a version without its tensor ${name}`);
  return found;
}
