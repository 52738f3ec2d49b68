/** Pictures as a model takes them: cut to its shape in their middle, made small, as numbers 0 to 1; nothing else of the
 * file is kept, so neither are its place and time. */
import { CodedError } from "../wire/errors";
import type { PictureShape } from "./takes";

/** Weights of red, green and blue in grey (ITU-R BT.601). */
const GREY = [0.299, 0.587, 0.114] as const;

/** Throws CodedError `ingest.malformed`. */
export async function readPicture(name: string, file: Blob, shape: PictureShape): Promise<Float32Array> {
  let picture: ImageBitmap;
  try {
    picture = await createImageBitmap(file, { imageOrientation: "from-image" });
  } catch {
    throw new CodedError("ingest.malformed", `${name} is no picture that this browser reads`);
  }
  const { height, width } = shape;
  const canvas = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  if (canvas === null) throw new CodedError("ingest.malformed", "this browser does not let a page read pictures");
  canvas.imageSmoothingQuality = "high";
  canvas.drawImage(picture, ...middle(picture.width, picture.height, shape), 0, 0, width, height);
  picture.close();
  return planes(canvas.getImageData(0, 0, width, height).data, shape);
}

/** Left, top, width and height of the largest part in the middle whose sides are to each other as those of `shape`. */
export function middle(wide: number, high: number, shape: PictureShape): [number, number, number, number] {
  const scale = Math.min(wide / shape.width, high / shape.height);
  const [width, height] = [scale * shape.width, scale * shape.height];
  return [(wide - width) / 2, (high - height) / 2, width, height];
}

/** One plane a channel, from points of red, green, blue and opacity, 0 to 255. */
export function planes(points: Uint8ClampedArray, { channels, height, width }: PictureShape): Float32Array {
  const count = width * height;
  const found = new Float32Array(channels * count);
  for (let place = 0; place < count; place += 1) {
    const [red, green, blue] = [0, 1, 2].map((colour) => (points[4 * place + colour] as number) / 255);
    const colours = [red, green, blue] as [number, number, number];
    if (channels === 3) for (const [channel, one] of colours.entries()) found[channel * count + place] = one;
    else found[place] = GREY.reduce((sum, weight, colour) => sum + weight * (colours[colour] as number), 0);
  }
  return found;
}
