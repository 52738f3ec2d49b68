/**
 * What devices remember of their own updates from round to round, one tensor a parameter, until it is too old: a mirror of
 * `coterie_learning.local._remembering`.
 */
import { float32, type Tensors } from "../../wire/tensors";
import type { State } from "../device_state";
import { type Broadcast, combined, DELTA, type Local } from "./interface";

const ROUND = "round";

/** What `remembering` stored; zeros where it is nothing, of another model, or more than `keepRounds` old. */
export function remembered({ tensors, values }: State, { received, round }: Broadcast, keepRounds: number): Tensors {
  const fits =
    tensors.size === received.size &&
    [...received].every(([name, { shape }]) => `${tensors.get(name)?.shape}` === `${shape}`);
  const since = values[ROUND];
  if (fits && typeof since === "number" && round - since <= keepRounds) return tensors;
  return new Map([...received].map(([name, { shape }]) => [name, float32(shape)]));
}

/** The state that holds `tensors` as of this round. */
export const remembering = (tensors: Tensors, { round }: Broadcast): State => ({ tensors, values: { [ROUND]: round } });

/** Remembers the tensors of the state less the difference that was sent, as the platform reads it. */
export const lessWhatWasSent: Local["remember"] = ({ state: { tensors, values } }, sent) => ({
  tensors: combined(tensors, sent().get(DELTA) as Tensors, (own, told) => own - told),
  values,
});
