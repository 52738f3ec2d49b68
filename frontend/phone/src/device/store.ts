/**
 * What the browser keeps of the device, in IndexedDB: each change that belongs together is one transaction.
 *
 * OPFS writes large files faster, and is not there everywhere (WebKit over http); models for phones are a few MB.
 */
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import { pays } from "../learning/accounting";
import type { Sample } from "../learning/batches";
import type { Labelling } from "../learning/labelling";
import type { Checkpoint } from "../learning/optimisation";
import type { PersonalCheckpoint } from "../learning/personal/training";
import type { PartyState } from "../learning/secure_sum/party";
import { sha256Hex } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import type {
  Assignment,
  ForgetNews,
  OfferUpdate,
  PrivacyBudget,
  SignedManifest,
  StandingPlan,
} from "../wire/messages";
import type { PlatformKeys } from "../wire/platform_keys";
import type { LogEntry, OfferMasked } from "../wire/secure_sum";
import { type Changes, changed, type OwnerChoices } from "./choices";
import type { Held } from "./policy";

export interface Identity {
  readonly device: string;
  readonly name: string;
  readonly credential: string;
  readonly platformKeys: PlatformKeys;
  readonly joinedAt: number;
}

/** The state of an assignment's training between two steps. */
export interface Saved {
  /** Samples up to this number are trained on. */
  readonly newest: number;
  readonly lossBefore: number;
  readonly accuracyBefore: number | null;
  readonly measureS: number;
  readonly trainS: number;
  readonly client: Checkpoint | null;
}

export interface Spooled {
  readonly offer: OfferUpdate;
  readonly payload: Uint8Array;
  /** What replaces the federation's state once the platform has accepted the update. */
  readonly state: Uint8Array;
  /** What hides the update, for the owner. */
  readonly privacy: string;
}

export interface Finished {
  readonly assignment: string;
  readonly federation: string;
  readonly round: number;
  readonly at: number;
  readonly outcome: "accepted" | "dropped" | "released";
  readonly sentence: string;
  /** The kind of the plan that covered the update; left out: it was kept before this was noted. */
  readonly privacy?: string;
}

/** A release under noise that the device has a part in, as its own account has it. */
export interface Told {
  readonly release: string;
  readonly federation: string;
  /** Of the Gaussian mechanism that it costs as much as, the inverse noise multiplier squared. */
  readonly mu2: number;
  readonly at: number;
}

/** The device's part in a sum whose noise depends on the sums before. */
export interface StreamPart {
  readonly assignment: string;
  readonly federation: string;
  /** How far apart two parts of the device are at least; with the federation it names the stream. */
  readonly apart: number;
  /** How many sums of the stream were released before. */
  readonly number: number;
}

/** What a federation may tell of the device: as its owner agreed, and as the owner is to agree. */
export interface Promised {
  readonly federation: string;
  readonly agreed: PrivacyBudget;
  /** null: nothing is asked. */
  readonly asked: PrivacyBudget | null;
}

/** How a question to the fleet ended for the device. */
export interface Answered {
  /** What its part in the sum was known by. */
  readonly answer: string;
  /** `answered`: it is in the sum; `declined`: nothing was sent of what it counted; `uncounted`: the sum went on without it. */
  readonly outcome: "answered" | "declined" | "uncounted";
  readonly sentence: string;
  readonly federation: string;
  readonly question: unknown;
  readonly at: number;
}

/** How far the device is in a secure sum. */
export interface SumState {
  readonly assignment: string;
  readonly state: PartyState;
  /** Of its masked vector, once there is one: there will be no other. */
  readonly offer: OfferMasked | null;
}

/** An entry of the log of identities as far as the device has read it; none is ever changed. */
interface Logged extends LogEntry {
  /** From 1 on. */
  readonly position: number;
  /** Of the log that ends with it. */
  readonly head: Uint8Array;
}

/** Something that left the device. */
export interface Receipt {
  readonly id?: number;
  readonly at: number;
  readonly what: string;
  readonly bytes: number;
  /** The literal text of a message; null for an update's bytes. */
  readonly body: string | null;
}

/** A training of the personal model that was begun. */
export interface Tuning {
  /** Of the plan that it follows. */
  readonly digest: string;
  /** The version that it began with. */
  readonly version: string;
  /** SHA-256 of the train step graph: it goes on under later versions of the same pair. */
  readonly trainStep: string;
  /** The samples from the first to the last number are trained on. */
  readonly first: number;
  readonly last: number;
  readonly client: PersonalCheckpoint;
}

/** How the latest training of the personal model ended. */
export interface Tuned {
  readonly digest: string;
  readonly federation: string;
  /** The version that it began with. */
  readonly version: string;
  readonly trainedUpTo: number;
  readonly comparedWith: string;
  /** Whether the personal model answers, or the version. */
  readonly answers: boolean;
  /** Samples held out, on which both were compared. */
  readonly samples: number;
  /** Shares that are right; null: the task has no right and wrong. */
  readonly versionAccuracy: number | null;
  readonly ownAccuracy: number | null;
  readonly reported: boolean;
}

/** The personal model, which answers instead of the version. */
export interface OwnModel {
  /** The version that it came from. */
  readonly base: string;
  readonly federation: string;
  /** The tensors of a version, as safetensors. */
  readonly tensors: Uint8Array;
}

/** A sample whose label nobody has said. */
export interface Unlabelled {
  readonly id: number;
  readonly x: Float32Array;
}

/** A sample as the browser keeps it. */
interface Kept extends Sample {
  /** The owner said the label when asked; left out: it came with the sample. */
  readonly asked?: true;
}

interface Values {
  identity: Identity;
  owner: OwnerChoices;
  assignment: Assignment;
  saved: Saved;
  spooled: Spooled;
  /** The secret half of the key by which the device is known in secure sums. */
  signing: Uint8Array;
  sum: SumState;
  masked: Uint8Array<ArrayBuffer>;
  /** The same of the question that is being answered. */
  questionSum: SumState;
  questionMasked: Uint8Array<ArrayBuffer>;
  /** Whether the latest assignment that was accepted hides in a sum what the device measures. */
  isMasked: boolean;
  model: SignedManifest;
  train_step_s: number;
  upload_s: number;
  /** The number under which the owner has the device forgotten. */
  receipt: string;
  /** What became of that, as the platform said last. */
  forgotten: ForgetNews;
  labelling: Labelling;
  standing: StandingPlan;
  tuning: Tuning;
  tuned: Tuned;
  own: OwnModel;
}

interface Schema extends DBSchema {
  values: { key: string; value: Values[keyof Values] };
  samples: { key: number; value: Kept };
  unlabelled: { key: number; value: Unlabelled };
  states: { key: string; value: Uint8Array };
  finished: { key: string; value: Finished };
  answered: { key: string; value: Answered };
  blobs: { key: string; value: Uint8Array };
  receipts: { key: number; value: Receipt };
  told: { key: string; value: Told };
  parts: { key: string; value: StreamPart };
  promises: { key: string; value: Promised };
  identity_log: { key: number; value: Logged; indexes: { device: string } };
}

const RECEIPTS_KEPT = 1000;
const FINISHED_KEPT = 200;
const ANSWERED_KEPT = 200;
const UNLABELLED_KEPT = 1000;
const STRICT = { durability: "strict" } as const;

export class Store {
  private constructor(private readonly db: IDBPDatabase<Schema>) {}

  static async open(): Promise<Store> {
    const db = await openDB<Schema>("coterie-device", 5, {
      upgrade(fresh, from) {
        fresh.createObjectStore("answered", { keyPath: "answer" });
        if (from > 3) return;
        fresh
          .createObjectStore("identity_log", { keyPath: "position" })
          .createIndex("device", "device", { unique: true });
        if (from > 2) return;
        fresh.createObjectStore("told", { keyPath: "release" });
        fresh.createObjectStore("parts", { keyPath: "assignment" });
        fresh.createObjectStore("promises", { keyPath: "federation" });
        if (from > 1) return;
        fresh.createObjectStore("unlabelled", { keyPath: "id", autoIncrement: true });
        if (from > 0) return;
        fresh.createObjectStore("values");
        fresh.createObjectStore("samples", { keyPath: "id", autoIncrement: true });
        fresh.createObjectStore("states");
        fresh.createObjectStore("finished", { keyPath: "assignment" });
        fresh.createObjectStore("blobs");
        fresh.createObjectStore("receipts", { keyPath: "id", autoIncrement: true });
      },
    });
    return new Store(db);
  }

  async get<K extends keyof Values>(name: K): Promise<Values[K] | null> {
    return ((await this.db.get("values", name)) as Values[K] | undefined) ?? null;
  }

  async put<K extends keyof Values>(name: K, value: Values[K]): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    await Promise.all([writing.store.put(value, name), writing.done]);
  }

  /** Change some of what the owner has chosen; the rest stays, or is as by `otherwise`. */
  async choose(changes: Changes, otherwise: Required<OwnerChoices>): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const { policy, pausedUntil } = otherwise;
    const known = ((await writing.store.get("owner")) as OwnerChoices | undefined) ?? { policy, pausedUntil };
    await Promise.all([writing.store.put(changed(known, changes, otherwise), "owner"), writing.done]);
  }

  async drop(...names: (keyof Values)[]): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    await Promise.all([...names.map((name) => writing.store.delete(name)), writing.done]);
  }

  /** The training of the personal model has ended: `own` answers from now on; null: the version does. */
  async endTuning(tuned: Tuned, own: OwnModel | null): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const { store } = writing;
    await Promise.all([
      store.put(tuned, "tuned"),
      store.delete("tuning"),
      own === null ? store.delete("own") : store.put(own, "own"),
      writing.done,
    ]);
  }

  /** A version was compared with the personal model, and answers from now on. */
  async answerByVersion(tuned: Tuned): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const { store } = writing;
    await Promise.all([store.put(tuned, "tuned"), store.delete("own"), writing.done]);
  }

  /**
   * Take an assignment in hand; what was left of another is dropped. `isMasked`: its plan hides in a sum what devices
   * measure.
   */
  async accept(assignment: Assignment, isMasked: boolean): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const { store } = writing;
    const sum = (await store.get("sum")) as SumState | undefined;
    if (sum?.assignment !== assignment.assignment) await Promise.all([store.delete("sum"), store.delete("masked")]);
    await Promise.all([
      store.put(isMasked, "isMasked"),
      store.put(assignment, "assignment"),
      store.delete("saved"),
      store.delete("spooled"),
      writing.done,
    ]);
  }

  /** The update is ready: it replaces the checkpoint. The device has its `part` before a byte of it is sent. */
  async spool(spooled: Spooled, part: StreamPart | null): Promise<void> {
    const writing = this.db.transaction(["values", "parts"], "readwrite", STRICT);
    const [values, parts] = [writing.objectStore("values"), writing.objectStore("parts")];
    if (part !== null) {
      for (const one of await parts.getAll()) {
        if (isOf(part, one) && one.number <= part.number - part.apart) await parts.delete(one.assignment);
      }
      await parts.put(part);
    }
    await Promise.all([values.put(spooled, "spooled"), values.delete("saved"), writing.done]);
  }

  /** The number of the device's newest part in the stream of `part`, without that itself; null: it had none. */
  async latestPart(part: StreamPart): Promise<number | null> {
    const others = (await this.db.getAll("parts")).filter(
      (one) => isOf(part, one) && one.assignment !== part.assignment,
    );
    return others.length === 0 ? null : Math.max(...others.map(({ number }) => number));
  }

  /**
   * Write down what a release tells before anything of it leaves; false, and nothing is written, where that would exceed
   * `most` in all. What was written down before is not charged again.
   */
  async charge(told: Told, most: number): Promise<boolean> {
    const writing = this.db.transaction("told", "readwrite", STRICT);
    const before = await writing.store.getAll();
    const isKnown = before.some(({ release }) => release === told.release);
    const isPaid = isKnown || pays(most, spentOf(before), told.mu2);
    if (isPaid && !isKnown) await writing.store.put(told);
    await writing.done;
    return isPaid;
  }

  /** What was told in all federations together. */
  async spent(): Promise<number> {
    return spentOf(await this.db.getAll("told"));
  }

  /** The same of each federation alone. */
  async spentByFederation(): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    for (const { federation, mu2 } of await this.db.getAll("told")) {
      found.set(federation, (found.get(federation) ?? 0) + mu2);
    }
    return found;
  }

  /** What the platform promised of `federation`; null: nothing was before. */
  async promised(federation: string): Promise<Promised | null> {
    return (await this.db.get("promises", federation)) ?? null;
  }

  async promise(promised: Promised): Promise<void> {
    const writing = this.db.transaction("promises", "readwrite", STRICT);
    await Promise.all([writing.store.put(promised), writing.done]);
  }

  /** Those of which the owner is to agree to more. */
  async raised(): Promise<Promised[]> {
    return (await this.db.getAll("promises")).filter(({ asked }) => asked !== null);
  }

  /** The spooled update; one that the disk has damaged is forgotten, so that it is trained anew. */
  async spooled(): Promise<Spooled | null> {
    const found = await this.get("spooled");
    if (found === null || sha256Hex(found.payload) === found.offer.sha256) return found;
    await this.db.delete("values", "spooled");
    return null;
  }

  /**
   * The assignment in hand has ended; where its update was accepted, the state that follows from it is kept. It was no
   * part in a stream where the platform says that it `isUncounted`; `toldNothing`: its noise would
   * have been on the sum.
   */
  async finish(finished: Finished, { isUncounted = false, toldNothing = false } = {}): Promise<void> {
    const writing = this.db.transaction(["values", "states", "finished", "parts", "told"], "readwrite", STRICT);
    if (isUncounted) await writing.objectStore("parts").delete(finished.assignment);
    if (toldNothing) await writing.objectStore("told").delete(finished.assignment);
    const [values, states, ended] = [
      writing.objectStore("values"),
      writing.objectStore("states"),
      writing.objectStore("finished"),
    ];
    const spooled = (await values.get("spooled")) as Spooled | undefined;
    if (finished.outcome === "accepted" && spooled !== undefined) await states.put(spooled.state, finished.federation);
    await ended.put(finished);
    for (const key of ["assignment", "saved", "spooled", "sum", "masked"]) await values.delete(key);
    const every = await ended.getAll();
    every.sort((a, b) => b.at - a.at);
    for (const { assignment } of every.slice(FINISHED_KEPT)) await ended.delete(assignment);
    await writing.done;
  }

  /** The key by which the device is known in secure sums; drawn once. */
  async signing(): Promise<Uint8Array> {
    const drawn = crypto.getRandomValues(new Uint8Array(32));
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const known = (await writing.store.get("signing")) as Uint8Array | undefined;
    if (known === undefined) await writing.store.put(drawn, "signing");
    await writing.done;
    return known ?? drawn;
  }

  /** What is remembered of a sum of updates, and of an answer's: a device may be in one of each at a time. */
  readonly sumOfUpdates: SumShelf = this.shelf("sum", "masked");
  readonly sumOfAnswers: SumShelf = this.shelf("questionSum", "questionMasked");

  private shelf(sum: "sum" | "questionSum", masked: "masked" | "questionMasked"): SumShelf {
    return {
      sum: async (assignment) => {
        const found = await this.get(sum);
        return found?.assignment === assignment ? found : null;
      },
      vector: () => this.get(masked),
      keepSum: async (assignment, state) => {
        const writing = this.db.transaction("values", "readwrite", STRICT);
        const before = (await writing.store.get(sum)) as SumState | undefined;
        const offer = before?.assignment === assignment ? before.offer : null;
        await Promise.all([writing.store.put({ assignment, state, offer }, sum), writing.done]);
      },
      keepVector: async (assignment, state, vector) => {
        const offer = { assignment, sha256: sha256Hex(vector), size_bytes: vector.length };
        const writing = this.db.transaction("values", "readwrite", STRICT);
        await Promise.all([
          writing.store.put({ assignment, state, offer }, sum),
          writing.store.put(vector, masked),
          writing.done,
        ]);
        return offer;
      },
    };
  }

  /** Forget the sum of any other question. */
  async beginAnswer(answer: string): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const held = (await writing.store.get("questionSum")) as SumState | undefined;
    if (held?.assignment !== answer) {
      await Promise.all([writing.store.delete("questionSum"), writing.store.delete("questionMasked")]);
    }
    await writing.done;
  }

  /** Keep how a question ended, and forget its sum. */
  async finishAnswer(answered: Answered): Promise<void> {
    const writing = this.db.transaction(["values", "answered"], "readwrite", STRICT);
    const [values, ended] = [writing.objectStore("values"), writing.objectStore("answered")];
    await ended.put(answered);
    for (const key of ["questionSum", "questionMasked"]) await values.delete(key);
    const every = await ended.getAll();
    every.sort((a, b) => b.at - a.at);
    for (const { answer } of every.slice(ANSWERED_KEPT)) await ended.delete(answer);
    await writing.done;
  }

  async isAnswered(answer: string): Promise<boolean> {
    return (await this.db.getKey("answered", answer)) !== undefined;
  }

  /** Newest first. */
  async answered(): Promise<Answered[]> {
    return (await this.db.getAll("answered")).sort((a, b) => b.at - a.at);
  }

  /** How many entries of the log of identities the device has read. */
  async logLength(): Promise<number> {
    return await this.db.count("identity_log");
  }

  /** The head after so many entries; null: the device has not read as many. */
  async logHead(length: number): Promise<Uint8Array | null> {
    return (await this.db.get("identity_log", length))?.head ?? null;
  }

  /**
   * Keep the entries that follow the first `length`, each with its head; no device has two. Those that another sum of
   * this device has read meanwhile stay as they are: heads tell whether they were others.
   */
  async appendLog(length: number, entries: readonly (LogEntry & { head: Uint8Array })[]): Promise<void> {
    const writing = this.db.transaction("identity_log", "readwrite", STRICT);
    const known = await writing.store.count();
    await Promise.all([
      ...entries
        .map((one, at) => ({ ...one, position: length + at + 1 }))
        .filter(({ position }) => position > known)
        .map((one) => writing.store.add(one)),
      writing.done,
    ]);
  }

  /** The identities of those of `devices` that are among the first `length` entries. */
  async logged(devices: readonly string[], length: number): Promise<Map<string, Uint8Array>> {
    const found = await Promise.all(devices.map((device) => this.db.getFromIndex("identity_log", "device", device)));
    const within = found.filter((one): one is Logged => one !== undefined && one.position <= length);
    return new Map(within.map(({ device, identity }) => [device, identity]));
  }

  async isFinished(assignment: string): Promise<boolean> {
    return (await this.db.getKey("finished", assignment)) !== undefined;
  }

  /** Newest first. */
  async finished(): Promise<Finished[]> {
    return (await this.db.getAll("finished")).sort((a, b) => b.at - a.at);
  }

  async state(federation: string): Promise<Uint8Array | null> {
    return (await this.db.get("states", federation)) ?? null;
  }

  /** Add samples in one go: all of them or, where the browser has no room, none. Throws CodedError `store.full`. */
  async addSamples(samples: readonly Omit<Sample, "id">[]): Promise<void> {
    try {
      const writing = this.db.transaction("samples", "readwrite", STRICT);
      for (const sample of samples) void writing.store.add(sample as Sample);
      await writing.done;
    } catch (error) {
      throw new CodedError("store.full", `the samples could not be stored: ${(error as Error).message}`);
    }
  }

  /** Those with a label and those without. */
  async deleteSamples(): Promise<void> {
    const writing = this.db.transaction(["samples", "unlabelled"], "readwrite", STRICT);
    await Promise.all([
      writing.objectStore("samples").clear(),
      writing.objectStore("unlabelled").clear(),
      writing.done,
    ]);
  }

  /** Keep samples without a label, of all the newest. Throws CodedError `store.full`. */
  async addUnlabelled(xs: readonly Float32Array[]): Promise<void> {
    try {
      const writing = this.db.transaction("unlabelled", "readwrite", STRICT);
      for (const x of xs) void writing.store.add({ x } as Unlabelled);
      const keys = await writing.store.getAllKeys();
      for (const key of keys.slice(0, Math.max(0, keys.length - UNLABELLED_KEPT))) void writing.store.delete(key);
      await writing.done;
    } catch (error) {
      throw new CodedError("store.full", `the samples could not be stored: ${(error as Error).message}`);
    }
  }

  /** null: it went, to make room or with all samples. */
  async unlabelled(id: number): Promise<Unlabelled | null> {
    return (await this.db.get("unlabelled", id)) ?? null;
  }

  /** Newest first. */
  async newestUnlabelled(count: number): Promise<Unlabelled[]> {
    const found: Unlabelled[] = [];
    let cursor = await this.db.transaction("unlabelled").store.openCursor(null, "prev");
    while (cursor !== null && found.length < count) {
      found.push(cursor.value);
      cursor = await cursor.continue();
    }
    return found;
  }

  /** Make a sample of class `label`, and keep the state that follows from its number. */
  async label({ id, x }: Unlabelled, label: number, answered: (made: number) => Labelling): Promise<void> {
    const writing = this.db.transaction(["samples", "unlabelled", "values"], "readwrite", STRICT);
    const sample = { x, label, target: new Float32Array(), asked: true };
    const made = await writing.objectStore("samples").add(sample as unknown as Kept);
    await writing.objectStore("unlabelled").delete(id);
    await writing.objectStore("values").put(answered(made), "labelling");
    await writing.done;
  }

  /** Forget a sample without a label, and keep the state. */
  async dropUnlabelled(id: number, state: Labelling): Promise<void> {
    const writing = this.db.transaction(["unlabelled", "values"], "readwrite", STRICT);
    await writing.objectStore("unlabelled").delete(id);
    await writing.objectStore("values").put(state, "labelling");
    await writing.done;
  }

  /**
   * Make the sample `made` one without a label again, and keep the state that follows from that one's number. False
   * where there is no such sample any more; then nothing changes.
   */
  async takeBack(made: number, undone: (sample: number) => Labelling): Promise<boolean> {
    const writing = this.db.transaction(["samples", "unlabelled", "values"], "readwrite", STRICT);
    const sample = await writing.objectStore("samples").get(made);
    if (sample !== undefined) {
      await writing.objectStore("samples").delete(made);
      const id = await writing.objectStore("unlabelled").add({ x: sample.x } as Unlabelled);
      await writing.objectStore("values").put(undone(id), "labelling");
    }
    await writing.done;
    return sample !== undefined;
  }

  /** Numbers of the samples, ascending. */
  async sampleIds(newest = Number.MAX_SAFE_INTEGER): Promise<number[]> {
    return this.db.getAllKeys("samples", IDBKeyRange.upperBound(newest));
  }

  /** In the order of `ids`; those that were removed since are left out. */
  async load(ids: readonly number[]): Promise<Sample[]> {
    const reading = this.db.transaction("samples");
    const found = await Promise.all(ids.map((id) => reading.store.get(id)));
    return found.filter((sample) => sample !== undefined);
  }

  /** What is known of all samples, how many each class has, and where labels are from. */
  async held(): Promise<Held & { readonly counts: readonly number[]; readonly asked: number; unlabelled: number }> {
    const unlabelled = await this.db.count("unlabelled");
    let [samples, features, targets, asked] = [0, 0, 0, 0];
    const counts: number[] = [];
    let cursor = await this.db.transaction("samples").store.openCursor();
    while (cursor !== null) {
      const { x, target, label } = cursor.value;
      if (samples === 0) [features, targets] = [x.length, target.length];
      samples += 1;
      if (cursor.value.asked) asked += 1;
      if (target.length === 0) {
        while (counts.length <= label) counts.push(0);
        counts[label] = (counts[label] ?? 0) + 1;
      }
      cursor = await cursor.continue();
    }
    return { samples, features, targets, classes: counts.length, counts, asked, unlabelled };
  }

  async blob(sha256: string): Promise<Uint8Array | null> {
    const found = (await this.db.get("blobs", sha256)) ?? null;
    if (found === null || sha256Hex(found) === sha256) return found;
    await this.db.delete("blobs", sha256);
    return null;
  }

  /** Keep a blob, and of all others only those `also` named. */
  async keepBlob(sha256: string, content: Uint8Array, also: ReadonlySet<string>): Promise<void> {
    const writing = this.db.transaction("blobs", "readwrite", STRICT);
    for (const key of await writing.store.getAllKeys()) if (!also.has(key)) await writing.store.delete(key);
    await writing.store.put(content, sha256);
    await writing.done;
  }

  async recordSent(what: string, bytes: number, body: string | null): Promise<void> {
    const writing = this.db.transaction("receipts", "readwrite");
    const id = await writing.store.add({ at: Date.now(), what, bytes, body });
    await writing.store.delete(IDBKeyRange.upperBound(id - RECEIPTS_KEPT));
    await writing.done;
  }

  /** The newest first. */
  async receipts(most: number): Promise<Receipt[]> {
    const found: Receipt[] = [];
    let cursor = await this.db.transaction("receipts").store.openCursor(null, "prev");
    while (cursor !== null && found.length < most) {
      found.push(cursor.value);
      cursor = await cursor.continue();
    }
    return found;
  }

  /** How many rows each of the browser's stores keeps. */
  async rows(): Promise<Record<string, number>> {
    const names = [...this.db.objectStoreNames];
    return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await this.db.count(name)] as const)));
  }

  /**
   * Forget everything but the samples, which are the owner's, what was told of them under noise, and the receipt of a
   * device that was `forgotten`, this one or one before it.
   */
  async forgetDevice(forgotten: ForgetNews | null = null): Promise<void> {
    const names = [
      "values",
      "states",
      "finished",
      "answered",
      "blobs",
      "receipts",
      "parts",
      "promises",
      "identity_log",
    ] as const;
    const writing = this.db.transaction(names, "readwrite", STRICT);
    const values = writing.objectStore("values");
    const kept = forgotten ?? ((await values.get("forgotten")) as ForgetNews | undefined);
    await Promise.all(names.map((name) => writing.objectStore(name).clear()));
    if (kept !== undefined) await values.put(kept, "forgotten");
    await writing.done;
  }
}

/** What is remembered of a secure sum; what a step gives is stored before anything of it is sent. */
export interface SumShelf {
  /** How far the sum of `assignment` is; null: it has not been joined. */
  sum(assignment: string): Promise<SumState | null>;
  /** The masked vector; null: there is none yet. */
  vector(): Promise<Uint8Array | null>;
  /** Remember this state of the sum, beside the vector if there is one. */
  keepSum(assignment: string, state: PartyState): Promise<void>;
  /** Remember the masked `vector` with the state that it leaves; the message that announces it. */
  keepVector(assignment: string, state: PartyState, vector: Uint8Array<ArrayBuffer>): Promise<OfferMasked>;
}

const isOf = (part: StreamPart, other: StreamPart): boolean =>
  part.federation === other.federation && part.apart === other.apart;

const spentOf = (told: readonly Told[]): number => told.reduce((sum, { mu2 }) => sum + mu2, 0);
