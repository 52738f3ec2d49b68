/** A whole number of a plan within bounds, which may be the lowest and the greatest. */
import * as v from "valibot";
import { within } from "./kinds";

export const whole = (least: number, most: number) => v.pipe(within(least, most), v.integer());
