/** What the plan's kind of privacy did for what left the device, in words. */
export const covering = (privacy: string): string =>
  privacy === "" ? "nothing covered it" : `covered by ${privacy.replaceAll("_", " ")}`;
