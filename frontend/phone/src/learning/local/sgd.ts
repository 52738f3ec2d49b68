/** Stochastic gradient descent: the local solver of FedAvg (McMahan et al. 2017, arXiv 1602.05629, Algorithm 1). */
import { kind } from "../kinds";
import { DESCENT, scalarsOf } from "./descent";
import { type Local, PLAIN } from "./interface";

export const sgd = kind(
  "local",
  "sgd",
  DESCENT,
  (given): Local => ({ ...PLAIN, epochs: given.epochs, scalars: scalarsOf(given, 0) }),
);
