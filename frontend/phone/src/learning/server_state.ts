/** What the platform's merge remembers beside a version, as devices get it: a mirror of `coterie_learning.server_state`. */
import type { TensorSpec } from "../wire/bundle";
import { byCodePoints, decodeFloats, readTensors, type Tensor, type Tensors } from "../wire/tensors";

/** The tensors of a state by what they are, each complete for these parameters. Throws CodedError `tensors.*`. */
export function broadcastState(content: Uint8Array, parameters: readonly TensorSpec[]): ReadonlyMap<string, Tensors> {
  const names = [...readTensors(content).tensors.keys()];
  const kinds = [...new Set(names.map((name) => name.split("/", 1)[0] as string))].sort(byCodePoints);
  const expected = kinds.flatMap((kind) => parameters.map((spec) => ({ ...spec, name: `${kind}/${spec.name}` })));
  const found = decodeFloats(content, expected);
  return new Map(
    kinds.map((kind) => [kind, new Map(parameters.map(({ name }) => [name, found.get(`${kind}/${name}`) as Tensor]))]),
  );
}
