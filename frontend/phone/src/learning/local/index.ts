/** Slot `local`: how a device learns. */
import { Registry } from "../kinds";
import { distill } from "./distill";
import { fedDyn } from "./fed_dyn";
import { fedNova } from "./fed_nova";
import type { Local } from "./interface";
import { multitask } from "./multitask";
import { perFedAvg } from "./per_fedavg";
import { prox } from "./prox";
import { qFedAvg } from "./q_fed_avg";
import { randomSubset } from "./random_subset";
import { scaffold } from "./scaffold";
import { secondOrder } from "./second_order";
import { sgd } from "./sgd";
import { sharedBody } from "./shared_body";

export const LOCAL = new Registry<Local>("local", [
  sgd,
  prox,
  distill,
  fedNova,
  qFedAvg,
  scaffold,
  fedDyn,
  randomSubset,
  sharedBody,
  multitask,
  perFedAvg,
  secondOrder,
]);
