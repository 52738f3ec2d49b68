/**
 * Federated multi-task learning, on the device: its own model, held near what models like it say of it (MOCHA, Smith et al.
 * 2017, arXiv 1705.10467, in the primal): a mirror of `coterie_learning.local.multitask`, which derives it.
 */
import * as v from "valibot";
import type { Tensors } from "../../wire/tensors";
import { unflat } from "../flat";
import { kind, positive, within } from "../kinds";
import { whole } from "../whole";
import { DIRECTIONS, directions, dot, vectorOf } from "./directions";
import { combined, DELTA, type Local, NOT_ASKED, PLAIN, scaled } from "./interface";
import { remembered, remembering } from "./remembering";

export const multitask = kind(
  "local",
  "multitask",
  {
    epochs: v.optional(whole(1, 1000), 3),
    learning_rate: v.optional(positive(100), 0.1),
    mu: v.optional(within(0, 1000), 1),
    keep_rounds: v.optional(whole(1, 1_000_000), 100),
  },
  ({ epochs, learning_rate, mu, keep_rounds }): Local => ({
    ...PLAIN,
    epochs,
    scalars: { ...NOT_ASKED, learning_rate, proximal_weight: mu },
    trainsPersonalModel: true,
    begin: (broadcast, state) => {
      const { received } = broadcast;
      const apart = vectorOf(remembered(state, broadcast, keep_rounds));
      const basis = directions(broadcast).map((one) => ({ one, along: dot(one, apart) }));
      const related = Float32Array.from(apart, (_, at) =>
        basis.reduce((sum, { one, along }) => sum + (one[at] as number) * along, 0),
      );
      return new Map([["anchor", combined(received, unflat(related, received), (number, more) => number + more)]]);
    },
    end: (broadcast, { delta }) => {
      const vector = vectorOf(delta);
      const turned = directions(broadcast).map((one, at): [string, Tensors] => [
        DIRECTIONS[at] as string,
        scaled(delta, { factor: Math.fround(dot(one, vector)) }),
      ]);
      const parts = new Map([[DELTA, delta], ...turned]);
      return { parts, scalars: new Map(), state: remembering(delta, broadcast) };
    },
  }),
);
