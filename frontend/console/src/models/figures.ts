import { numbers } from "../components/locale";
import { bytes, counted, duration, percent } from "../components/units";

interface Written {
  readonly words: string;
  readonly format: (value: number) => string;
}

/** What people look at first, in this order, as they read it; whatever else was measured follows. */
const WRITTEN: Readonly<Record<string, Written>> = {
  accuracy: { words: "accuracy on held-out samples", format: percent },
  validation_accuracy: { words: "accuracy on samples held back", format: percent },
  training_accuracy: { words: "accuracy on the samples that it was trained on", format: percent },
  held_back: { words: "samples held back", format: (count) => counted(count) },
  device_accuracy_median: { words: "accuracy of the median device", format: percent },
  device_accuracy_worst_decile: { words: "accuracy of the worst tenth of devices", format: percent },
  device_accuracy: { words: "accuracy on devices’ own samples", format: percent },
  size_bytes: { words: "size", format: bytes },
  train_step_s: { words: "train step on devices", format: duration },
  devices_holding: { words: "devices that hold it", format: (count) => counted(count) },
  accuracy_before: { words: "accuracy before the round", format: percent },
  mean_accuracy: { words: "accuracy on devices before the round", format: percent },
  mean_loss_before: { words: "loss on devices before the round", format: number },
  mean_loss_after: { words: "loss on devices after training", format: number },
  updates: { words: "updates", format: number },
  samples: { words: "samples learned from", format: number },
  epsilon: { words: "privacy spent (ε) of the device told most of", format: number },
  delta: { words: "probability for which that does not hold (δ)", format: number },
  clipping_norm: { words: "updates made from it are clipped to", format: number },
  ordinary_norm: { words: "norm that updates made from it may have in any case", format: number },
  update_bytes: { words: "uploaded for it", format: bytes },
  merge_s: { words: "merged in", format: duration },
};
const ORDER = Object.keys(WRITTEN);
const FIGURES = numbers({ maximumSignificantDigits: 4 });

/** What a figure of a version is called, and how its values are written. */
export function writtenOf(name: string): Written {
  return WRITTEN[name] ?? { words: name.replaceAll("_", " "), format: number };
}

/** Names of figures, those first that people look at first. */
export function inOrder(names: readonly string[]): readonly string[] {
  const rank = (name: string) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  return [...names].sort((one, other) => rank(one) - rank(other));
}

function number(value: number): string {
  return FIGURES.format(value);
}
