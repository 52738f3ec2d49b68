/**
 * SCAFFOLD, on the device: y ← y - lr·(∇F_k(y) + c - c_k) (Karimireddy et al. 2020, arXiv 1910.06378, Algorithm 1): a
 * mirror of `coterie_learning.local.scaffold`. What is kept is K·lr·c_k, the control as the update that it makes of a round.
 */
import * as v from "valibot";
import type { Tensors } from "../../wire/tensors";
import type { State } from "../device_state";
import { kind, positive } from "../kinds";
import { whole } from "../whole";
import { type Broadcast, combined, DELTA, type Local, NOT_ASKED, PLAIN, scaled } from "./interface";
import { anchorOf, WEIGHT } from "./linear";
import { lessWhatWasSent, remembered, remembering } from "./remembering";

export const scaffold = kind(
  "local",
  "scaffold",
  {
    steps: v.optional(whole(1, 100_000), 10),
    learning_rate: v.optional(positive(100), 0.1),
    keep_rounds: v.optional(whole(1, 1_000_000), 100),
  },
  ({ steps, learning_rate, keep_rounds }): Local => {
    /** C_k - C: how much further the device goes in a round than the fleet does, with the sign of a gradient. */
    const ahead = (broadcast: Broadcast, state: State): Tensors => {
      const own = remembered(state, broadcast, keep_rounds);
      const control = broadcast.server.get("control");
      return control === undefined ? own : combined(own, control, (mine, fleets) => mine - fleets);
    };
    return {
      ...PLAIN,
      epochs: 1,
      steps,
      scalars: { ...NOT_ASKED, learning_rate, proximal_weight: WEIGHT },
      plainDescent: true,
      begin: (broadcast, state) => {
        const factor = -Math.fround(1 / (steps * learning_rate));
        const slope = scaled(ahead(broadcast, state), { factor });
        return new Map([["anchor", anchorOf(broadcast.received, slope)]]);
      },
      // The update of a device that had no time for all steps is as long as if it had gone on at its pace.
      end: (broadcast, { delta, steps: done }, state) => {
        const update = done === steps ? delta : scaled(delta, { factor: Math.fround(steps / done) });
        const parts = new Map([[DELTA, update]]);
        return { parts, scalars: new Map(), state: remembering(ahead(broadcast, state), broadcast) };
      },
      remember: lessWhatWasSent,
    };
  },
);
