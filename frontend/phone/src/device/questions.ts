/** What the owner is asked about samples without a label, and what becomes of the answers: `coterie_agent.label_api`. */
import { featuresOf } from "../learning/contract";
import {
  ASK_POLICY,
  type AskPolicy,
  answer,
  ask,
  type Labelling,
  mostUncertain,
  NOTHING_ASKED,
  questionsLeft,
  skip,
  snooze,
  undo,
} from "../learning/labelling";
import { classesOf, type Manifest, type ModelSpec } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import type { LabelFacts } from "../wire/messages";
import { LABELS } from "./consent";
import type { Unlabelled } from "./kept";
import type { Store } from "./store";

/** Of the samples without a label, the newest, among which one is chosen to be asked about. */
const COMPARED = 200;
const DAY_MS = 24 * 3600 * 1000;

/** The model in use, as far as a question needs it. */
export interface Answering {
  readonly manifest: Manifest;
  /** The output for each of the samples. Throws CodedError. */
  readonly outputs: (xs: readonly Float32Array[]) => Promise<number[][]>;
}

export interface Question {
  readonly id: number;
  readonly x: readonly number[];
  /** Channels, height and width, where the model takes one picture of 1 or 3 channels. */
  readonly picture: readonly [number, number, number] | null;
  readonly options: readonly string[];
}

/** What the page shows of labels. */
export interface LabelsShown {
  readonly question: Question | null;
  readonly left: number;
  readonly unlabelled: number;
  /** Samples whose label the owner said when asked. */
  readonly asked: number;
  readonly snoozedUntil: number;
  readonly canUndo: boolean;
  readonly perDay: number;
}

export class Questions {
  private queue: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly held: () => ReturnType<Store["held"]>,
    /** null: the device holds no version. */
    private readonly answering: () => Promise<Answering | null>,
  ) {}

  /** Opens a question where none is open and one may be asked: the device's page asks it. */
  shown(): Promise<LabelsShown> {
    return this.alone(async () => {
      const [state, choices, samples] = await Promise.all([this.state(), this.store.get("owner"), this.held()]);
      const policy = choices?.asks ?? ASK_POLICY;
      const mayAsk = !((await this.store.get("agreed"))?.at(-1)?.withdrawn ?? []).includes(LABELS);
      const left = leftOf(state, policy);
      const { unlabelled, asked } = samples;
      const shown = { left, unlabelled, asked, perDay: policy.per_day };
      if (unlabelled === 0 || !mayAsk) return { ...shown, ...stateOf(state), question: null };
      const answering = await this.answering();
      if (answering === null) return { ...shown, ...stateOf(state), question: null };
      const open = state.open === null ? null : await this.store.unlabelled(state.open);
      if (open !== null) return { ...shown, ...stateOf(state), question: questionOf(open, answering.manifest) };
      const chosen = left === 0 ? null : await this.choose(answering, policy);
      if (chosen === null) return { ...shown, ...stateOf(state), question: null };
      const after = ask(state, chosen.id, today());
      await this.store.put("labelling", after);
      return { ...shown, ...stateOf(after), left: left - 1, question: questionOf(chosen, answering.manifest) };
    });
  }

  /** The owner's answer; null: the question is skipped. Throws CodedError `labels.not_open`. */
  answer(question: number, label: number | null): Promise<void> {
    return this.alone(async () => {
      const state = await this.state();
      const open = state.open === question ? await this.store.unlabelled(question) : null;
      if (open === null) throw new CodedError("labels.not_open", "this question is not open any more");
      if (label === null) await this.store.dropUnlabelled(question, skip(state));
      else await this.store.label(open, label, (made) => answer(state, made));
    });
  }

  /** Throws CodedError `labels.nothing_to_undo`. */
  undo(): Promise<void> {
    return this.alone(async () => {
      const state = await this.state();
      const undone = state.last !== null && (await this.store.takeBack(state.last, (sample) => undo(state, sample)));
      if (!undone) throw new CodedError("labels.nothing_to_undo", "there is no answer to be undone");
    });
  }

  /** Ask nothing new until then, in milliseconds since 1970. */
  snooze(until: number): Promise<void> {
    return this.alone(async () => this.store.put("labelling", snooze(await this.state(), until / 1000)));
  }

  /** What the platform is told; null: all samples came with labels, and nobody was asked. */
  async facts(): Promise<LabelFacts | null> {
    const [state, { unlabelled, asked, implied }] = await Promise.all([this.state(), this.held()]);
    if (unlabelled + asked + implied + state.asked === 0) return null;
    return { asked, implied, unlabelled, questions: state.asked, answers: state.answered };
  }

  private async state(): Promise<Labelling> {
    return (await this.store.get("labelling")) ?? NOTHING_ASKED;
  }

  private async choose({ manifest, outputs }: Answering, { how }: AskPolicy): Promise<Unlabelled | null> {
    const { model } = manifest;
    if (model.task !== "classes") return null;
    const features = featuresOf(model);
    const found = (await this.store.newestUnlabelled(COMPARED)).filter(({ x }) => x.length === features);
    if (found.length === 0) return null;
    const number = mostUncertain(
      found.map(({ id }) => id),
      await outputs(found.map(({ x }) => x)),
      how,
    );
    return found.find(({ id }) => id === number) ?? null;
  }

  /** One after the other: each reads the state and replaces it. */
  private alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.queue.then(work);
    this.queue = done.catch(() => {});
    return done;
  }
}

const stateOf = ({ snoozed_until, last }: Labelling) => ({
  snoozedUntil: snoozed_until * 1000,
  canUndo: last !== null,
});

function leftOf(state: Labelling, policy: AskPolicy): number {
  return questionsLeft(state, policy, { now: Date.now() / 1000, day: today(), hour: new Date().getHours() });
}

/** The owner's day. */
function today(): number {
  const now = new Date();
  return Math.floor((now.getTime() - now.getTimezoneOffset() * 60_000) / DAY_MS);
}

function questionOf({ id, x }: Unlabelled, { model, labels }: Manifest): Question {
  const options = Array.from({ length: classesOf(model) }, (_, label) => labels[label] ?? String(label));
  return { id, x: [...x], picture: pictureOf(model), options };
}

function pictureOf({ inputs }: ModelSpec): readonly [number, number, number] | null {
  const [channels, height, width, ...more] = inputs[0]?.shape ?? [];
  if (inputs.length !== 1 || more.length > 0) return null;
  if (channels === undefined || height === undefined || width === undefined) return null;
  return channels === 1 || channels === 3 ? [channels, height, width] : null;
}
