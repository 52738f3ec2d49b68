import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { HUES } from "./hues";

type Triple = readonly [number, number, number];
type Matrix = readonly [Triple, Triple, Triple];

const CSS = readFileSync("src/theme/index.css", "utf8");

/** How people see who lack one kind of cone, in linear RGB (Machado, Oliveira and Fernandes 2009, severity 1). */
const SEEN: Readonly<Record<string, Matrix>> = {
  "all cones": [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function times(matrix: Matrix, [x, y, z]: Triple): Triple {
  const [a, b, c] = matrix.map(([p, q, r]) => p * x + q * y + r * z);
  return [a ?? 0, b ?? 0, c ?? 0];
}

function linear(hex: string): Triple {
  const [r, g, b] = [1, 3, 5].map((from) => {
    const value = Number.parseInt(hex.slice(from, from + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return [r ?? 0, g ?? 0, b ?? 0];
}

/** Contrast ratio of WCAG 2. */
function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [one, other]
    .map(
      (hex) =>
        times(
          [
            [0.2126, 0.7152, 0.0722],
            [0, 0, 0],
            [0, 0, 0],
          ],
          linear(hex),
        )[0],
    )
    .sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** Oklab (Ottosson 2020), in which distances are about as large as they look. */
function oklab(rgb: Triple): Triple {
  const cones: Matrix = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
  ];
  const [l, m, s] = times(cones, rgb).map((value) => Math.cbrt(Math.max(0, value)));
  const axes: Matrix = [
    [0.2104542553, 0.793617785, -0.0040720468],
    [1.9779984951, -2.428592205, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.808675766],
  ];
  return times(axes, [l ?? 0, m ?? 0, s ?? 0]);
}

function coloursOf(scheme: string): { ground: string; hues: string[] } {
  const block = CSS.match(new RegExp(`color-scheme="${scheme}"\\] \\{([^}]+)\\}`))?.[1] ?? "";
  const value = (name: string) => block.match(new RegExp(`${name}: (#[0-9a-f]{6});`))?.[1] ?? "none";
  return { ground: value("--ground"), hues: HUES.map(value) };
}

it.each(["light", "dark"])("the colours for data stand out from the %s ground", (scheme) => {
  const { ground, hues } = coloursOf(scheme);
  for (const hue of hues) expect(contrast(hue, ground), hue).toBeGreaterThan(3);
});

it.each(["light", "dark"])(
  "the colours for data can be told apart with fewer cones, too, on the %s ground",
  (scheme) => {
    const { hues } = coloursOf(scheme);
    for (const [eyes, seen] of Object.entries(SEEN)) {
      const looks = hues.map((hue) => oklab(times(seen, linear(hue))));
      looks.forEach((one, index) => {
        for (const other of looks.slice(index + 1)) {
          const apart = Math.hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
          expect(apart, `${hues[index]} with ${eyes}`).toBeGreaterThan(0.08);
        }
      });
    }
  },
);
