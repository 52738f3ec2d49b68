/** What a colour of a chart stands for. */
export interface Key {
  readonly words: string;
  /** The page's name of the colour, say `--good`. */
  readonly colour: string;
  readonly opacity?: number;
}

const EDGE = 16;
const LINE = 24;
const SWATCH = 10;

/** A chart's picture as it stands by itself, away from the page: on its ground, with its title and what its colours mean. */
export function poster(chart: HTMLCanvasElement, title: string, legend: readonly Key[]): HTMLCanvasElement {
  const style = getComputedStyle(document.body);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const scale = devicePixelRatio;
  const canvas = document.createElement("canvas");
  canvas.width = chart.width + 2 * EDGE * scale;
  canvas.height = chart.height + (2 * EDGE + LINE + (legend.length > 0 ? LINE : 0)) * scale;
  const context = canvas.getContext("2d");
  if (context === null) return chart;
  context.fillStyle = colour("--raised");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(chart, EDGE * scale, (EDGE + LINE) * scale);
  context.scale(scale, scale);
  context.textBaseline = "middle";
  context.fillStyle = style.color;
  context.font = "600 14px Inter, sans-serif";
  context.fillText(title, EDGE, EDGE + LINE / 2 - 4);
  context.font = "12px Inter, sans-serif";
  let x = EDGE;
  const y = canvas.height / scale - EDGE - LINE / 2 + 4;
  for (const { words, colour: name, opacity = 1 } of legend) {
    context.globalAlpha = opacity;
    context.fillStyle = colour(name);
    context.fillRect(x, y - SWATCH / 2, SWATCH, SWATCH);
    context.globalAlpha = 1;
    context.fillStyle = style.color;
    context.fillText(words, x + SWATCH + 6, y);
    x += SWATCH + 6 + context.measureText(words).width + EDGE;
  }
  return canvas;
}
