/** FedProx: descent that is held near what the device received (Li et al. 2020, arXiv 1812.06127, Algorithm 2). */
import * as v from "valibot";
import { kind, within } from "../kinds";
import { DESCENT, scalarsOf } from "./descent";
import { type Local, PLAIN } from "./interface";

export const prox = kind(
  "local",
  "prox",
  { ...DESCENT, mu: v.optional(within(0, 1000), 0.1) },
  (given): Local => ({
    ...PLAIN,
    epochs: given.epochs,
    scalars: scalarsOf(given, given.mu),
    begin: ({ received }) => new Map([["anchor", received]]),
  }),
);
