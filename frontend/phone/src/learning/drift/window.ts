/** A hard limit on the error over the last batches, as in Cartel (Daga et al. 2019, doi 10.1145/3357223.3362708). */
import * as v from "valibot";
import { within } from "../kinds";
import { whole } from "../whole";
import { detector } from "./detector";

/** Drift is an error above `limit` over the last `batches`; it lasts as long as the error does. */
export const window = detector(
  "window",
  { limit: v.optional(within(0, 1), 0.2), batches: v.optional(whole(1, 1000), 2) },
  { errors: [] as readonly number[] },
  ({ limit, batches }, memory, wrong, samples) => {
    const errors = [...memory.errors, wrong / samples].slice(-batches);
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
    return { state: { errors }, drifted: errors.length === batches && mean > limit };
  },
);
