import type { Version } from "./queries";

/** What made a version, in words. */
export function cameOf(origin: NonNullable<Version["origin"]>): string {
  return origin === "rebuild" ? "rebuilt without a forgotten device" : origin.replaceAll("_", " ");
}
