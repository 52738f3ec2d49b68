/**
 * A random subset of the parameters is trained and sent: a structured update by a random mask (Konečný et al. 2016, arXiv
 * 1610.05492, §2): a mirror of `coterie_learning.local.random_subset`. What is sent is multiplied by the number of
 * parameters over that of the chosen, so that the mean over devices is right.
 */
import * as v from "valibot";
import { float32, type Tensor } from "../../wire/tensors";
import { kind, positive } from "../kinds";
import { countOf } from "../subsets";
import { DESCENT, scalarsOf } from "./descent";
import { DELTA, type Local, PLAIN, WHOLE } from "./interface";

export const randomSubset = kind(
  "local",
  "random_subset",
  { ...DESCENT, share: v.optional(positive(1), 0.25) },
  (given): Local => ({
    ...PLAIN,
    epochs: given.epochs,
    scalars: scalarsOf(given, 0),
    scope: { ...WHOLE, share: given.share },
    end: (_, { delta }, state) => {
      const longer = ({ shape, data }: Tensor): Tensor => {
        const factor = Math.fround(data.length / countOf(given.share, data.length));
        return float32(
          shape,
          data.map((number) => number * factor),
        );
      };
      const sent = new Map([...delta].map(([name, tensor]) => [name, longer(tensor)]));
      return { parts: new Map([[DELTA, sent]]), scalars: new Map(), state };
    },
  }),
);
