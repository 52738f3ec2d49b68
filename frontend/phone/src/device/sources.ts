/** What the owner records, picks or types, as samples that stay in this browser; and what the model takes it for. */
import { readPicture } from "../sources/pictures";
import { type Takes, takesOf } from "../sources/takes";
import { followings, suggested, typed, Vocabulary } from "../sources/words";
import { CodedError } from "../wire/errors";
import { sourcesIn } from "./consent";
import type { Kept, Source } from "./kept";
import type { Answering } from "./questions";
import type { Store } from "./store";

const ANSWERS = 3;
type Row = Pick<Kept, "x" | "label" | "implied">;

/** What the model that answers takes the newest sample for, the likeliest first. */
export type Answers = readonly { readonly what: string; readonly share: number }[];

export class Sources {
  constructor(
    private readonly store: Store,
    private readonly held: () => ReturnType<Store["held"]>,
    /** null: the device holds no version. */
    private readonly answering: () => Promise<Answering | null>,
  ) {}

  /** Windows of acceleration while the owner did what class `label` is. Throws CodedError. */
  async addWindows(windows: readonly Float32Array[], label: number): Promise<Answers> {
    const { answering } = await this.taking("motion");
    await this.add(
      "motion",
      windows.map((x) => ({ x, label })),
    );
    return await answersTo(windows.at(-1) as Float32Array, answering);
  }

  /** Pictures, all of them or none; `label` null: the owner is asked later. Throws CodedError. */
  async addPictures(files: readonly File[], label: number | null): Promise<Answers> {
    const { answering, taken } = await this.taking("pictures");
    const pictures: Float32Array[] = [];
    for (const file of files) pictures.push(await readPicture(file.name, file, taken));
    if (label === null) {
      await this.check(taken.channels * taken.height * taken.width);
      await this.store.addUnlabelled(pictures, "pictures");
    } else {
      await this.add(
        "pictures",
        pictures.map((x) => ({ x, label })),
      );
    }
    return await answersTo(pictures.at(-1) as Float32Array, answering);
  }

  /** Each word of `text` after those before it; the text itself is not kept. Throws CodedError. */
  async addText(text: string): Promise<{ added: number; unknown: number }> {
    const { answering, taken } = await this.taking("words");
    const { samples, unknown } = followings(text, new Vocabulary(answering.manifest.labels), taken.before);
    await this.add(
      "words",
      samples.map((one) => ({ ...one, implied: true })),
    );
    return { added: samples.length, unknown };
  }

  /** Words that may go on from `text`. Throws CodedError. */
  async suggest(text: string): Promise<string[]> {
    const { answering, taken } = await this.taking("words");
    const { labels } = answering.manifest;
    const { x, begun } = typed(text, new Vocabulary(labels), taken.before);
    const [output] = await answering.outputs([x]);
    return suggested(output ?? [], labels, begun, ANSWERS);
  }

  private async add(source: Source, rows: readonly Row[]): Promise<void> {
    const [first] = rows;
    if (first === undefined) return;
    await this.check(first.x.length);
    await this.store.addSamples(rows.map((row) => ({ ...row, source, target: new Float32Array() })));
  }

  private async check(features: number): Promise<void> {
    const held = await this.held();
    if (held.samples === 0 || held.features === features) return;
    const detail = `samples that are here have ${held.features} numbers, these ${features}; delete the others first`;
    throw new CodedError("ingest.wrong_width", detail);
  }

  private async taking<S extends "motion" | "pictures" | "words">(
    source: S,
  ): Promise<{ answering: Answering; taken: NonNullable<Takes[S]> }> {
    await checkSource(this.store, source);
    const answering = await this.answering();
    const taken = answering === null ? null : takesOf(answering.manifest)[source];
    if (answering === null || taken === null) {
      throw new CodedError("data.does_not_fit", `the device holds no model that takes ${source}`);
    }
    return { answering, taken };
  }
}

/** Throws CodedError `owner.taken_back` where the owner has taken back what this source gives. */
export async function checkSource(store: Pick<Store, "get">, source: Source): Promise<void> {
  if (!sourcesIn((await store.get("agreed"))?.at(-1)?.withdrawn ?? []).has(source)) return;
  throw new CodedError("owner.taken_back", "you have taken back that this is learned from; give it again first");
}

async function answersTo(x: Float32Array, { manifest, outputs }: Answering): Promise<Answers> {
  const { classes } = takesOf(manifest);
  const [output = []] = await outputs([x]);
  const most = Math.max(...output);
  const weights = output.map((logit) => Math.exp(logit - most));
  const total = weights.reduce((sum, one) => sum + one, 0);
  return weights
    .map((weight, at) => ({ what: classes[at] ?? `class ${at}`, share: weight / total }))
    .sort((a, b) => b.share - a.share)
    .slice(0, ANSWERS);
}
