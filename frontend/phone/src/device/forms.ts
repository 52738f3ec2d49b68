/** How quick each form of a version is in this browser, and which of them predicts: a mirror of `coterie_agent.variants`. */
import type { Manifest, ModelSpec } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import { type Counts, counted, FLOAT32, type Latency, quantileS, scaled, TOLD, totalOf } from "../wire/latency";
import type { Conditions } from "../wire/messages";
import type { AnyTensor, Tensors } from "../wire/tensors";
import type { Variants } from "../wire/variants";
import type { KnownForms } from "./kept";
import type { ReadPart } from "./opened";
import { Predictor } from "./predictor";

/** Within which 99 of 100 runs of a form are to end, as for agents whose owner chooses nothing else. */
export const WITHIN_S = 0.01;
const [WARM_UP, RUNS] = [20, 200];
/** Of one form's measurement; a slow one is measured in fewer runs. */
const LONGEST_S = 5;
const FEWEST = 5;
/** Runs are timed together until they take so long, since a browser's clock is coarse: up to a tenth of a millisecond. */
const TIMED_S = 0.001;
/** After so long the browser has its turn: commands of the page, and what else waits. */
const TURN_S = 0.05;

type Clock = () => number;
const CLOCK: Clock = () => performance.now() / 1000;

/**
 * Durations of `run`; null if `stop` returned true before. The first runs do not count. `clock` tells seconds. Throws
 * what `run` throws.
 */
export async function measureForm(
  run: () => Promise<unknown>,
  stop: () => boolean,
  clock: Clock = CLOCK,
): Promise<Counts | null> {
  const began = clock();
  const isSlow = (): boolean => clock() - began > LONGEST_S;
  let turn = began;
  const timed = async (together: number): Promise<number> => {
    if (clock() - turn >= TURN_S) {
      await new Promise((resolve) => setTimeout(resolve));
      turn = clock();
    }
    const since = clock();
    for (let done = 0; done < together; done++) await run();
    return clock() - since;
  };
  let [together, warm, tookS] = [1, 0, 0];
  do {
    if (stop()) return null;
    if (warm > 0 && tookS < TIMED_S) together *= 2;
    tookS = await timed(together);
    warm += together;
  } while ((warm < WARM_UP || tookS < TIMED_S) && !isSlow());
  const durations: (readonly [number, number])[] = [];
  for (let runs = 0; runs < RUNS && !(isSlow() && durations.length >= FEWEST); runs += together) {
    if (stop()) return null;
    durations.push([(await timed(together)) / together, together]);
  }
  return counted(durations);
}

/**
 * The first of `forms`, which come the most accurate first, that runs within so long 99 times of 100; where none does, the
 * quickest.
 */
export function chooseForm(forms: Readonly<Record<string, Counts>>, withinS: number): string {
  const names = Object.keys(forms);
  const half = (name: string): number => quantileS(forms[name] as Counts, 0.5) ?? Number.POSITIVE_INFINITY;
  const inTime = names.find((name) => (quantileS(forms[name] as Counts, 0.99) ?? Number.POSITIVE_INFINITY) <= withinS);
  return inTime ?? names.reduce((best, name) => (half(name) < half(best) ? name : best));
}

/** What of the version is read, and whether to go on. */
export interface Around {
  readonly part: ReadPart;
  readonly received: Tensors;
  readonly frozen: ReadonlyMap<string, AnyTensor>;
  readonly stop: () => boolean;
}

/**
 * What the device knows of the forms that `listed` names, whose graphs are here, of the version that it holds. A form that
 * does not run is passed over, and the reason is kept. null if `stop` returned true before. Throws CodedError `model.*`.
 */
export async function measureForms(
  listed: Variants,
  digest: string,
  manifest: Manifest,
  { part, received, frozen, stop }: Around,
): Promise<KnownForms | null> {
  const { model } = manifest;
  const forms: Record<string, Counts> = {};
  const refused: Record<string, string> = {};
  const whole = await Predictor.open(await part(manifest.predict.sha256), model, frozen);
  const measured = await measurePredictor(whole, received, model, stop);
  if (measured === null) return null;
  forms[FLOAT32] = measured;
  for (const { name, graph } of listed.variants) {
    try {
      const form = await Predictor.alone(await part(graph.sha256), model);
      const its = await measurePredictor(form, new Map(), model, stop);
      if (its === null) return null;
      forms[name] = its;
    } catch (error) {
      if (!(error instanceof CodedError) || !error.code.startsWith("model.")) throw error;
      console.warn(`the form ${name} of the model does not run here: ${error.message} [${error.code}]`);
      refused[name] = error.message;
    }
  }
  const chosen = chooseForm(forms, WITHIN_S);
  const graph = listed.variants.find(({ name }) => name === chosen)?.graph ?? null;
  return { version: listed.version, digest, forms, refused, chosen, graph };
}

/** On one sample of zeros; `predictor` is closed then. */
async function measurePredictor(
  predictor: Predictor,
  version: Tensors,
  model: ModelSpec,
  stop: () => boolean,
): Promise<Counts | null> {
  const features = model.inputs.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
  const zeros = [new Float32Array(features)];
  try {
    return await measureForm(() => predictor.outputs(version, zeros), stop);
  } finally {
    await predictor.close();
  }
}

/** What the platform is told: shapes, not counts. */
export const latenciesOf = ({ version, forms }: KnownForms, { charging }: Conditions): Latency[] =>
  Object.entries(forms)
    .filter(([, counts]) => totalOf(counts) > 0)
    .map(([form, counts]) => ({
      version,
      work: "predict",
      form,
      durations: { counts: scaled(counts, TOLD) },
      charging,
    }));
