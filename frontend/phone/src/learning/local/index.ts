/** Slot `local`: how a device learns. */
import { Registry } from "../kinds";
import { distill } from "./distill";
import type { Local } from "./interface";
import { prox } from "./prox";
import { sgd } from "./sgd";

export const LOCAL = new Registry<Local>("local", [sgd, prox, distill]);
