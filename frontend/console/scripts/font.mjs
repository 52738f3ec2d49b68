// Writes the part of Inter that the console mostly draws: what the last face of src/theme/inter.css says.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import subsetFont from "subset-font";

const theme = join(import.meta.dirname, "../src/theme");
const whole = join(
  import.meta.dirname,
  "../node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
);
const FEATURES = ["calt", "ccmp", "kern", "liga", "tnum"];

const face = readFileSync(join(theme, "inter.css"), "utf8").split("@font-face").at(-1);
const [min, max] = /font-weight: (\d+) (\d+);/.exec(face).slice(1).map(Number);
const ranges = [.../U\+([0-9A-F]+)(?:-([0-9A-F]+))?/g[Symbol.matchAll](face)].map(([, first, last = first]) =>
  [first, last].map((code) => Number.parseInt(code, 16)),
);
const drawn = ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, place) => first + place));

const font = await subsetFont(readFileSync(whole), String.fromCodePoint(...drawn), {
  targetFormat: "woff2",
  variationAxes: { wght: { min, max } },
  keepFeatures: FEATURES,
});
writeFileSync(join(theme, "inter-drawn.woff2"), font);
