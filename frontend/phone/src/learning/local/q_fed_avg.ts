/**
 * q-FedAvg, on the device: F_k^q·Δ_k, F_k^q and h_k are sent (Li et al. 2020, arXiv 1905.10497, Algorithm 2): a mirror of
 * `coterie_learning.local.q_fed_avg`.
 */
import * as v from "valibot";
import { exactSum } from "../exact_sum";
import { kind, positive, within } from "../kinds";
import { whole } from "../whole";
import { DELTA, type Local, NOT_ASKED, PLAIN, scaled } from "./interface";

const LEAST_LOSS = 1e-10;
/** A device that has nothing left to learn counts so much, which float32 can still hold. */
const LEAST_WEIGHT = 1e-20;

export const qFedAvg = kind(
  "local",
  "q_fed_avg",
  {
    q: v.optional(within(0, 20), 1),
    epochs: v.optional(whole(1, 1000), 1),
    learning_rate: v.optional(positive(100), 0.1),
    loss_scale: v.optional(positive(1e6), 1),
  },
  ({ q, epochs, learning_rate, loss_scale }): Local => ({
    ...PLAIN,
    epochs,
    scalars: { ...NOT_ASKED, learning_rate },
    needsLoss: true,
    end: (_, { delta, loss: received }, state) => {
      if (received === null) throw new Error("it needs the loss");
      const loss = (received + LEAST_LOSS) / loss_scale;
      const squares = [...delta.values()].map(({ data }) => data.reduce((sum, one) => sum + one * one, 0));
      const weight = Math.fround(Math.max(loss ** q, LEAST_WEIGHT));
      const slope = (q * loss ** (q - 1)) / loss_scale;
      const curvature = weight + (slope * exactSum(squares)) / learning_rate;
      const scalars = new Map([
        ["weight", weight],
        ["curvature", curvature],
      ]);
      return { parts: new Map([[DELTA, scaled(delta, { factor: weight })]]), scalars, state };
    },
  }),
);
