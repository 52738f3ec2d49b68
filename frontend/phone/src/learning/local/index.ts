/** Slot `local`: how a device learns. */
import { Registry } from "../kinds";
import { distill } from "./distill";
import { fedNova } from "./fed_nova";
import type { Local } from "./interface";
import { prox } from "./prox";
import { qFedAvg } from "./q_fed_avg";
import { sgd } from "./sgd";

export const LOCAL = new Registry<Local>("local", [sgd, prox, distill, fedNova, qFedAvg]);
