/**
 * What the browser keeps of the device, in IndexedDB: each change that belongs together is one transaction, and each row
 * is sealed. What the disk has damaged is never used: `damage` says what becomes of it.
 *
 * OPFS writes large files faster, and is not there everywhere (WebKit over http); models for phones are a few MB.
 */
import {
  type DBSchema,
  type IDBPDatabase,
  type IDBPObjectStore,
  type IDBPTransaction,
  openDB,
  type StoreNames,
} from "idb";
import { pays } from "../learning/accounting";
import type { Sample } from "../learning/batches";
import type { Labelling } from "../learning/labelling";
import { EMPTY } from "../learning/secure_sum/identities";
import type { PartyState } from "../learning/secure_sum/party";
import { sha256Hex } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import type { Assignment, ForgetNews } from "../wire/messages";
import type { LogEntry, OfferMasked } from "../wire/secure_sum";
import { type Changes, changed, type OwnerChoices } from "./choices";
import { sourcesIn } from "./consent";
import { LOSSES, noted, ROW_LOSSES } from "./damage";
import { LOG_DAMAGED } from "./failure";
import type {
  Answered,
  Damage,
  Finished,
  Kept,
  KeptState,
  LogEnd,
  Logged,
  OwnModel,
  Promised,
  Receipt,
  Source,
  Spooled,
  StreamPart,
  SumState,
  Taught,
  Told,
  Tuned,
  Unlabelled,
  Values,
} from "./kept";
import type { Held } from "./policy";
import { opened, type Sealed, sealed } from "./sealing";

interface Schema extends DBSchema {
  values: { key: keyof Values; value: Sealed<{ value: Values[keyof Values] }> };
  samples: { key: number; value: Sealed<Kept> };
  unlabelled: { key: number; value: Sealed<Unlabelled> };
  states: { key: string; value: Sealed<KeptState> };
  finished: { key: string; value: Sealed<Finished> };
  answered: { key: string; value: Sealed<Answered> };
  /** Under their own hash. */
  blobs: { key: string; value: Uint8Array };
  receipts: { key: number; value: Sealed<Receipt> };
  told: { key: string; value: Sealed<Told> };
  parts: { key: string; value: Sealed<StreamPart> };
  promises: { key: string; value: Sealed<Promised> };
  identity_log: { key: number; value: Sealed<Logged>; indexes: { device: string } };
  taught: { key: number; value: Sealed<Taught> };
}

type SealedStore = Exclude<StoreNames<Schema>, "blobs">;
type RowStore = Exclude<SealedStore, "values">;
type Key<N extends StoreNames<Schema>> = Schema[N]["key"];
type Row<N extends SealedStore> = Omit<Schema[N]["value"], "seal">;
type WritingLog = IDBPTransaction<Schema, ("identity_log" | "values")[], "readwrite">;
type Writing<N extends StoreNames<Schema>> = IDBPObjectStore<Schema, StoreNames<Schema>[], N, "readwrite">;

const RECEIPTS_KEPT = 1000;
const FINISHED_KEPT = 200;
const ANSWERED_KEPT = 200;
const UNLABELLED_KEPT = 1000;
const STRICT = { durability: "strict" } as const;

export class Store {
  /** How many classes the model tells apart; 0: it tells none apart, or there is none. */
  private classes = 0;
  /** Whether a sample has a label that the model does not know; null: nobody has looked. */
  private setsAside: Promise<boolean> | null = null;

  private constructor(private readonly db: IDBPDatabase<Schema>) {}

  static async open(): Promise<Store> {
    const db = await openDB<Schema>("coterie-device", 8, {
      upgrade(fresh, from, _, upgrading) {
        makeStores(fresh, from);
        void bringUp(upgrading as Upgrading, from);
      },
    });
    return new Store(db);
  }

  /**
   * null: there is none, or the disk has damaged it. Throws CodedError `agent.sum_damaged` or `agent.no_identity_key` of
   * what is made only once.
   */
  async get<K extends keyof Values>(name: K): Promise<Values[K] | null> {
    const kept = await this.db.get("values", name);
    if (kept === undefined) return null;
    const row = soundIn("values", name, kept);
    return row === null ? await this.lose(name) : (row.value as Values[K]);
  }

  async put<K extends keyof Values>(name: K, value: Values[K]): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    await Promise.all([keep(writing.store, name, value), writing.done]);
  }

  /** Have something else take the place of a value that the disk has damaged, or nothing. */
  private async lose<K extends keyof Values>(name: K): Promise<Values[K] | null> {
    const { code, sentence, instead, also = [] } = LOSSES[name];
    if (code !== undefined) throw new CodedError(code, sentence);
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const { store } = writing;
    const kept = await store.get(name);
    if (kept !== undefined && soundIn("values", name, kept) === null) {
      for (const one of [name, ...also]) await store.delete(one);
      await note(store, sentence, 1);
      if (instead !== undefined) await keep(store, name, instead());
    }
    await writing.done;
    return await this.get(name);
  }

  /** The row; null: there is none, or the disk has damaged it. */
  private async row<N extends RowStore>(name: N, key: Key<N>): Promise<Row<N> | null> {
    const kept = await this.db.get(name, key);
    if (kept === undefined) return null;
    const found = soundIn(name, key, kept);
    if (found === null) await this.loseRows(name, [key]);
    return found;
  }

  /** All rows but those that the disk has damaged. */
  private async all<N extends RowStore>(name: N): Promise<Row<N>[]> {
    const { store } = this.db.transaction(name);
    const [keys, kept] = await Promise.all([store.getAllKeys(), store.getAll()]);
    const found = keys.map((key, at) => soundIn(name, key, kept[at] as Schema[N]["value"]));
    const lost = keys.filter((_, at) => found[at] === null);
    if (lost.length === 0) return found.filter((one) => one !== null);
    await this.loseRows(name, lost);
    return await this.all(name);
  }

  /** Remove rows that the disk has damaged; what was told counts without bounds instead. */
  private async loseRows<N extends RowStore>(name: N, keys: readonly Key<N>[]): Promise<void> {
    if (keys.length === 0) return;
    const writing = this.db.transaction([name, "values"] as StoreNames<Schema>[], "readwrite", STRICT);
    const store = writing.objectStore(name);
    if (name === "identity_log") await logEndIn(writing as WritingLog); // the entries that go may be what tells it
    let count = 0;
    for (const key of keys) {
      const kept = await store.get(key);
      if (kept === undefined || soundIn(name, key, kept as Schema[N]["value"]) !== null) continue;
      count += 1;
      // Entries of the log hold each other: those that follow are read again, too.
      await store.delete(name === "identity_log" ? IDBKeyRange.lowerBound(key) : key);
      if (name !== "told") continue;
      const told = { release: key as string, federation: "", mu2: Number.POSITIVE_INFINITY, at: Date.now() };
      await writing.objectStore("told").put(sealed(placeOf("told", key), told));
    }
    if (count > 0) await note(writing.objectStore("values"), ROW_LOSSES[name], count);
    await writing.done;
  }

  /** What the disk has damaged, until the owner has read it; the latest first. */
  async damage(): Promise<readonly Damage[]> {
    return (await this.get("damage")) ?? [];
  }

  /** Change some of what the owner has chosen; the rest stays, or is as by `otherwise`. */
  async choose(changes: Changes, otherwise: Required<OwnerChoices>): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const { policy, pausedUntil } = otherwise;
    const known = (await valueIn(writing.store, "owner")) ?? { policy, pausedUntil };
    await Promise.all([keep(writing.store, "owner", changed(known, changes, otherwise)), writing.done]);
  }

  async drop(...names: (keyof Values)[]): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    await Promise.all([...names.map((name) => writing.store.delete(name)), writing.done]);
  }

  /**
   * Keep some values and drop others while the plan with this `digest` holds between rounds; false, and nothing changes,
   * where none or another holds by now.
   */
  async writeUnder(digest: string, kept: Partial<Values>, ...gone: (keyof Values)[]): Promise<boolean> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const { store } = writing;
    const isHeld = (await valueIn(store, "standing"))?.digest === digest;
    if (isHeld) {
      for (const [name, value] of Object.entries(kept)) await keep(store, name as keyof Values, value);
      for (const name of gone) await store.delete(name);
    }
    await writing.done;
    return isHeld;
  }

  /** The training of the personal model has ended: `own` answers from now on; null: the version does. */
  async endTuning(tuned: Tuned, own: OwnModel | null): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const { store } = writing;
    await Promise.all([
      keep(store, "tuned", tuned),
      store.delete("tuning"),
      own === null ? store.delete("own") : keep(store, "own", own),
      writing.done,
    ]);
  }

  /** A version was compared with the personal model, and answers from now on. */
  async answerByVersion(tuned: Tuned): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const { store } = writing;
    await Promise.all([keep(store, "tuned", tuned), store.delete("own"), writing.done]);
  }

  /**
   * Take an assignment in hand; what was left of another is dropped. `isMasked`: its plan hides in a sum what devices
   * measure.
   */
  async accept(assignment: Assignment, isMasked: boolean): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const { store } = writing;
    if (!(await isSumOf(store, "sum", assignment.assignment))) {
      await Promise.all([store.delete("sum"), store.delete("masked")]);
    }
    await Promise.all([
      keep(store, "isMasked", isMasked),
      keep(store, "assignment", assignment),
      store.delete("saved"),
      store.delete("spooled"),
      writing.done,
    ]);
  }

  /**
   * The update is ready: it replaces the checkpoint. The device has its `part` before a byte of it is sent, and answers
   * with `own` from now on, where the round trained that.
   */
  async spool(spooled: Spooled, part: StreamPart | null, own: Trained | null = null): Promise<void> {
    const writing = this.db.transaction(["values", "parts"], "readwrite", STRICT);
    const [values, parts] = [writing.objectStore("values"), writing.objectStore("parts")];
    if (part !== null) {
      for (const one of await parts.getAll()) {
        if (isOf(part, one) && one.number <= part.number - part.apart) await parts.delete(one.assignment);
      }
      await parts.put(sealed(placeOf("parts", part.assignment), part));
    }
    if (own !== null) {
      await keep(values, "own", own.model);
      if (own.tuned !== null) await keep(values, "tuned", own.tuned);
    }
    await Promise.all([keep(values, "spooled", spooled), values.delete("saved"), writing.done]);
  }

  /** The number of the device's newest part in the stream of `part`, without that itself; null: it had none. */
  async latestPart(part: StreamPart): Promise<number | null> {
    const others = (await this.all("parts")).filter((one) => isOf(part, one) && one.assignment !== part.assignment);
    return others.length === 0 ? null : Math.max(...others.map(({ number }) => number));
  }

  /**
   * Write down what a release tells before anything of it leaves; false, and nothing is written, where that would exceed
   * `most` in all. What was written down before is not charged again.
   */
  async charge(told: Told, most: number): Promise<boolean> {
    const writing = this.db.transaction("told", "readwrite", STRICT);
    const isKnown = (await writing.store.getKey(told.release)) !== undefined;
    const before = await writing.store.getAll();
    const isPaid = isKnown || pays(most, spentOf(before), told.mu2);
    if (isPaid && !isKnown) await writing.store.put(sealed(placeOf("told", told.release), told));
    await writing.done;
    return isPaid;
  }

  /** What was told in all federations together; without bounds where the disk has damaged an entry. */
  async spent(): Promise<number> {
    return spentOf(await this.all("told"));
  }

  /** The same of each federation alone. */
  async spentByFederation(): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    for (const { federation, mu2 } of await this.all("told")) {
      found.set(federation, (found.get(federation) ?? 0) + mu2);
    }
    return found;
  }

  /** What the platform promised of `federation`; null: nothing was before. */
  async promised(federation: string): Promise<Promised | null> {
    return await this.row("promises", federation);
  }

  async promise(promised: Promised): Promise<void> {
    const writing = this.db.transaction("promises", "readwrite", STRICT);
    const kept = sealed(placeOf("promises", promised.federation), promised);
    await Promise.all([writing.store.put(kept), writing.done]);
  }

  /** Those of which the owner is to agree to more. */
  async raised(): Promise<Promised[]> {
    return (await this.all("promises")).filter(({ asked }) => asked !== null);
  }

  /**
   * The assignment in hand has ended; where its update was accepted, the state that follows from it is kept, if the disk
   * has not damaged it. It was no
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
    if (finished.outcome === "accepted") {
      const { federation } = finished;
      const spooled = await valueIn(values, "spooled");
      if (spooled === null) await states.delete(federation);
      else await states.put(sealed(placeOf("states", federation), stateAfter(spooled)), federation);
      if ((await valueIn(values, "standing"))?.federation === federation) {
        const later = ((await valueIn(values, "portions")) ?? []).filter(
          ({ during }) => during === finished.assignment,
        );
        if (later.length === 0) await values.delete("portions");
        else await keep(values, "portions", later);
      }
    }
    await ended.put(sealed(placeOf("finished", finished.assignment), finished));
    for (const key of ["assignment", "saved", "spooled", "sum", "masked"] as const) await values.delete(key);
    const every = await ended.getAll();
    every.sort((a, b) => b.at - a.at);
    for (const { assignment } of every.slice(FINISHED_KEPT)) await ended.delete(assignment);
    await writing.done;
  }

  /** The key by which the device is known in secure sums; drawn once. Throws CodedError `agent.no_identity_key`. */
  async signing(): Promise<Uint8Array> {
    const drawn = crypto.getRandomValues(new Uint8Array(32));
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const known = await valueIn(writing.store, "signing");
    if (known === null) await keep(writing.store, "signing", drawn);
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
        const before = await valueIn(writing.store, sum);
        const offer = before?.assignment === assignment ? before.offer : null;
        await Promise.all([keep(writing.store, sum, { assignment, state, offer }), writing.done]);
      },
      keepVector: async (assignment, state, vector) => {
        const offer = { assignment, sha256: sha256Hex(vector), size_bytes: vector.length };
        const writing = this.db.transaction("values", "readwrite", STRICT);
        await Promise.all([
          keep(writing.store, sum, { assignment, state, offer }),
          keep(writing.store, masked, vector),
          writing.done,
        ]);
        return offer;
      },
    };
  }

  /** Forget the sum of any other question. */
  async beginAnswer(answer: string): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    if (!(await isSumOf(writing.store, "questionSum", answer))) {
      await Promise.all([writing.store.delete("questionSum"), writing.store.delete("questionMasked")]);
    }
    await writing.done;
  }

  /** Keep how a question ended, and forget its sum. */
  async finishAnswer(answered: Answered): Promise<void> {
    const writing = this.db.transaction(["values", "answered"], "readwrite", STRICT);
    const [values, ended] = [writing.objectStore("values"), writing.objectStore("answered")];
    await ended.put(sealed(placeOf("answered", answered.answer), answered));
    for (const key of ["questionSum", "questionMasked"] as const) await values.delete(key);
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
    return (await this.all("answered")).sort((a, b) => b.at - a.at);
  }

  /** How many entries of the log of identities the device has read. */
  async logLength(): Promise<number> {
    return await this.db.count("identity_log");
  }

  /** The head after so many entries; null: the device has not read as many. Throws CodedError `store.log_damaged`. */
  async logHead(length: number): Promise<Uint8Array | null> {
    const kept = await this.db.get("identity_log", length);
    return kept === undefined ? null : (await this.entry(length, kept)).head;
  }

  /** Throws CodedError `store.log_damaged` where it is not what was written; it is read again then. */
  private async entry(position: number, kept: Sealed<Logged>): Promise<Logged> {
    const found = soundIn("identity_log", position, kept);
    if (found !== null) return found;
    await this.loseRows("identity_log", [position]);
    throw new CodedError(LOG_DAMAGED, ROW_LOSSES.identity_log);
  }

  /**
   * Keep the entries that follow the first `length`, each with its head; no device has two. Those that another sum of
   * this device has read meanwhile stay as they are: heads tell whether they were others. Where damaged ones were removed
   * meanwhile none are kept.
   */
  async appendLog(length: number, entries: readonly (LogEntry & { head: Uint8Array })[]): Promise<void> {
    const writing: WritingLog = this.db.transaction(["identity_log", "values"], "readwrite", STRICT);
    const log = writing.objectStore("identity_log");
    const known = await log.count();
    const numbered = entries.map((one, at) => ({ ...one, position: length + at + 1 }));
    const last = numbered.at(-1);
    if (known >= length && last !== undefined) {
      for (const one of numbered.filter(({ position }) => position > known)) {
        await log.add(sealed(placeOf("identity_log", one.position), one));
      }
      if (last.position > (await logEndIn(writing)).length) await keepLogEnd(writing, last);
    }
    await writing.done;
  }

  /** Throws CodedError `agent.log_damaged` where nothing tells it any more. */
  async logEnd(): Promise<LogEnd> {
    const writing: WritingLog = this.db.transaction(["identity_log", "values"], "readwrite", STRICT);
    const end = await logEndIn(writing);
    await writing.done;
    return end;
  }

  /**
   * The identities of those of `devices` that are among the first `length` entries. Throws CodedError
   * `store.log_damaged`.
   */
  async logged(devices: readonly string[], length: number): Promise<Map<string, Uint8Array>> {
    const positions = await Promise.all(
      devices.map((device) => this.db.getKeyFromIndex("identity_log", "device", device)),
    );
    const found = new Map<string, Uint8Array>();
    for (const position of positions) {
      if (position === undefined || position > length) continue;
      const kept = await this.db.get("identity_log", position);
      if (kept === undefined) continue;
      const { device, identity } = await this.entry(position, kept);
      found.set(device, identity);
    }
    return found;
  }

  async isFinished(assignment: string): Promise<boolean> {
    return (await this.db.getKey("finished", assignment)) !== undefined;
  }

  /** Newest first. */
  async finished(): Promise<Finished[]> {
    return (await this.all("finished")).sort((a, b) => b.at - a.at);
  }

  /** null: no update was accepted, or the disk has damaged what followed from the latest. */
  async state(federation: string): Promise<KeptState | null> {
    return await this.row("states", federation);
  }

  /** Add samples in one go: all of them or, where the browser has no room, none. Throws CodedError `store.full`. */
  async addSamples(samples: readonly Omit<Kept, "id" | "at" | "asked">[]): Promise<void> {
    try {
      const writing = this.db.transaction("samples", "readwrite", STRICT);
      const at = Date.now();
      const rows = samples.map((one) => ({ ...one, at }));
      await Promise.all([append("samples", writing.store, rows), writing.done]);
      this.setsAside = null;
    } catch (error) {
      throw new CodedError("store.full", `the samples could not be stored: ${(error as Error).message}`);
    }
  }

  /** Those with a label and those without. */
  async deleteSamples(): Promise<void> {
    const writing = this.db.transaction(["samples", "unlabelled", "taught"], "readwrite", STRICT);
    await Promise.all([
      writing.objectStore("samples").clear(),
      writing.objectStore("unlabelled").clear(),
      writing.objectStore("taught").clear(),
      writing.done,
    ]);
  }

  /** Keep samples without a label, of all the newest. Throws CodedError `store.full`. */
  async addUnlabelled(xs: readonly Float32Array[], source: Source): Promise<void> {
    try {
      const writing = this.db.transaction("unlabelled", "readwrite", STRICT);
      await append(
        "unlabelled",
        writing.store,
        xs.map((x) => ({ x, source })),
      );
      const keys = await writing.store.getAllKeys();
      for (const key of keys.slice(0, Math.max(0, keys.length - UNLABELLED_KEPT))) void writing.store.delete(key);
      await writing.done;
    } catch (error) {
      throw new CodedError("store.full", `the samples could not be stored: ${(error as Error).message}`);
    }
  }

  /** null: it went, to make room, with all samples, or because the disk has damaged it. */
  async unlabelled(id: number): Promise<Unlabelled | null> {
    return await this.row("unlabelled", id);
  }

  /** Newest first. */
  async newestUnlabelled(count: number): Promise<Unlabelled[]> {
    const sources = await this.withdrawnSources();
    return (await this.newest("unlabelled", count)).filter(({ source }) => !isFrom(sources, source));
  }

  /** Make a sample of class `label`, and keep the state that follows from its number. */
  async label({ id, x, source }: Unlabelled, label: number, answered: (made: number) => Labelling): Promise<void> {
    const writing = this.db.transaction(["samples", "unlabelled", "values"], "readwrite", STRICT);
    const sample = {
      x,
      label,
      target: new Float32Array(),
      at: Date.now(),
      asked: true as const,
      ...(source && { source }),
    };
    const made = await append("samples", writing.objectStore("samples"), [sample]);
    await writing.objectStore("unlabelled").delete(id);
    await keep(writing.objectStore("values"), "labelling", answered(made));
    await writing.done;
  }

  /** Forget a sample without a label, and keep the state. */
  async dropUnlabelled(id: number, state: Labelling): Promise<void> {
    const writing = this.db.transaction(["unlabelled", "values"], "readwrite", STRICT);
    await writing.objectStore("unlabelled").delete(id);
    await keep(writing.objectStore("values"), "labelling", state);
    await writing.done;
  }

  /**
   * Make the sample `made` one without a label again, and keep the state that follows from that one's number. False
   * where there is no such sample any more; then nothing changes.
   */
  async takeBack(made: number, undone: (sample: number) => Labelling): Promise<boolean> {
    const names = ["samples", "unlabelled", "values", "taught"] as const;
    const writing = this.db.transaction(names, "readwrite", STRICT);
    const kept = await writing.objectStore("samples").get(made);
    const sample = kept === undefined ? null : soundIn("samples", made, kept);
    if (sample !== null) {
      await writing.objectStore("samples").delete(made);
      await writing.objectStore("taught").delete(made);
      const id = await append("unlabelled", writing.objectStore("unlabelled"), [{ x: sample.x }]);
      await keep(writing.objectStore("values"), "labelling", undone(id));
    }
    await writing.done;
    return sample !== null;
  }

  /**
   * Set aside the samples whose label is not below `classes`, and take back others; 0: set none aside. Nothing is
   * learned from them.
   */
  fit(classes: number): void {
    if (classes === this.classes) return;
    [this.classes, this.setsAside] = [classes, null];
  }

  private async doesSetAside(): Promise<boolean> {
    if (this.classes === 0) return false;
    let cursor = await this.db.transaction("samples").store.openCursor();
    while (cursor !== null && !this.isSetAside(cursor.value)) cursor = await cursor.continue();
    return cursor !== null;
  }

  private isSetAside({ label, target }: { readonly label: number; readonly target: Float32Array }): boolean {
    return this.classes > 0 && target.length === 0 && label >= this.classes;
  }

  /**
   * Numbers of the samples from `first` to `last`, ascending, but those that are set aside, or of sources that the
   * owner has taken back.
   */
  async sampleIds(first = 0, last = Number.MAX_SAFE_INTEGER): Promise<number[]> {
    this.setsAside ??= this.doesSetAside();
    const [range, sources] = [IDBKeyRange.bound(first, last), await this.withdrawnSources()];
    const setsAside = await this.setsAside;
    const { store } = this.db.transaction("samples");
    const keys = await store.getAllKeys(range);
    if (sources.size === 0 && !setsAside) return keys;
    const rows = await Promise.all(keys.map((key) => store.get(key)));
    return keys.filter((_, at) => {
      const row = rows[at];
      return row !== undefined && !isFrom(sources, row.source) && !this.isSetAside(row);
    });
  }

  private async withdrawnSources(): Promise<ReadonlySet<string>> {
    return sourcesIn((await this.get("agreed"))?.at(-1)?.withdrawn ?? []);
  }

  /** The number of the first sample that came at `since`, in milliseconds since 1970, or later; null: none did. */
  async firstSince(since: number): Promise<number | null> {
    let cursor = await this.db.transaction("samples").store.openCursor();
    while (cursor !== null && cursor.value.at < since) cursor = await cursor.continue();
    return cursor?.primaryKey ?? null;
  }

  /** Those of the samples `ids` of which this version of the cloud model has said nothing yet; what others said goes. */
  async unasked(version: string, ids: readonly number[]): Promise<number[]> {
    const [others, asked]: [number[], Set<number>] = [[], new Set()];
    for (const one of await this.all("taught")) {
      if (one.version === version) asked.add(one.sample);
      else others.push(one.sample);
    }
    const writing = this.db.transaction("taught", "readwrite", STRICT);
    await Promise.all([...others.map((sample) => writing.store.delete(sample)), writing.done]);
    return ids.filter((id) => !asked.has(id));
  }

  /** Keep what the cloud model says of samples; of one that was removed meanwhile nothing is kept. */
  async keepTaught(answers: readonly Taught[]): Promise<void> {
    const writing = this.db.transaction(["samples", "taught"], "readwrite", STRICT);
    const [samples, kept] = [writing.objectStore("samples"), writing.objectStore("taught")];
    for (const one of answers) {
      if ((await samples.getKey(one.sample)) !== undefined) await kept.put(sealed(placeOf("taught", one.sample), one));
    }
    await writing.done;
  }

  /** What this version of the cloud model says of the sample; null: nothing is kept. */
  async taught(version: string, sample: number): Promise<Uint16Array | null> {
    const found = await this.row("taught", sample);
    return found?.version === version ? found.probabilities : null;
  }

  /** In the order of `ids`; those that were removed or taken back since, or that the disk has damaged, are left out. */
  async load(ids: readonly number[]): Promise<Sample[]> {
    const sources = await this.withdrawnSources();
    const { store } = this.db.transaction("samples");
    const kept = await Promise.all(ids.map((id) => store.get(id)));
    const found = ids.map((id, at) => {
      const one = kept[at];
      return one === undefined ? undefined : soundIn("samples", id, one);
    });
    await this.loseRows(
      "samples",
      ids.filter((_, at) => found[at] === null),
    );
    const whole = found.filter((sample) => sample !== undefined && sample !== null);
    return whole.filter(({ source }) => !isFrom(sources, source));
  }

  /** What is known of all samples but those of sources that were taken back, how many each class has, and where labels are from. */
  async held(): Promise<Held & { readonly counts: readonly number[] } & LabelsHeld> {
    const unlabelled = await this.db.count("unlabelled");
    const sources = await this.withdrawnSources();
    let [samples, features, targets, aside, asked, implied] = [0, 0, 0, 0, 0, 0];
    const [counts, lost]: [number[], number[]] = [[], []];
    for (
      let cursor = await this.db.transaction("samples").store.openCursor();
      cursor !== null;
      cursor = await cursor.continue()
    ) {
      const sample = soundIn("samples", cursor.primaryKey, cursor.value);
      if (sample === null) {
        lost.push(cursor.primaryKey);
        continue;
      }
      if (isFrom(sources, sample.source)) continue;
      const { x, target, label } = sample;
      if (samples === 0) [features, targets] = [x.length, target.length];
      samples += 1;
      if (sample.asked) asked += 1;
      if (sample.implied) implied += 1;
      if (this.isSetAside(sample)) {
        aside += 1;
      } else if (target.length === 0) {
        while (counts.length <= label) counts.push(0);
        counts[label] = (counts[label] ?? 0) + 1;
      }
    }
    await this.loseRows("samples", lost);
    return { samples, aside, features, targets, counts, asked, implied, unlabelled };
  }

  async blob(sha256: string): Promise<Uint8Array | null> {
    const found = (await this.db.get("blobs", sha256)) ?? null;
    if (found === null || sha256Hex(found) === sha256) return found;
    const writing = this.db.transaction(["blobs", "values"], "readwrite", STRICT);
    await writing.objectStore("blobs").delete(sha256);
    await note(writing.objectStore("values"), ROW_LOSSES.blobs, 1);
    await writing.done;
    return null;
  }

  async dropBlobs(...hashes: readonly string[]): Promise<void> {
    const writing = this.db.transaction("blobs", "readwrite", STRICT);
    await Promise.all([...hashes.map((sha256) => writing.store.delete(sha256)), writing.done]);
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
    const id = await append("receipts", writing.store, [{ at: Date.now(), what, bytes, body }]);
    await writing.store.delete(IDBKeyRange.upperBound(id - RECEIPTS_KEPT));
    await writing.done;
  }

  /** The newest first. */
  async receipts(most: number): Promise<Receipt[]> {
    return await this.newest("receipts", most);
  }

  /** The newest `most` rows but those that the disk has damaged, newest first. */
  private async newest<N extends "unlabelled" | "receipts">(name: N, most: number): Promise<Row<N>[]> {
    const [found, lost]: [Row<N>[], Key<N>[]] = [[], []];
    let cursor = await this.db.transaction(name).store.openCursor(null, "prev");
    while (cursor !== null && found.length < most) {
      const row = soundIn(name, cursor.primaryKey, cursor.value);
      if (row === null) lost.push(cursor.primaryKey);
      else found.push(row);
      cursor = await cursor.continue();
    }
    await this.loseRows(name, lost);
    return found;
  }

  /** How many rows each of the browser's stores keeps. */
  async rows(): Promise<Record<string, number>> {
    const names = [...this.db.objectStoreNames];
    return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await this.db.count(name)] as const)));
  }

  /**
   * Forget everything but the samples, which are the owner's, what was told of them under noise, what the disk has
   * damaged, and the receipt of a device that was `forgotten`, this one or one before it.
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
      "taught",
    ] as const;
    const writing = this.db.transaction(names, "readwrite", STRICT);
    const values = writing.objectStore("values");
    const kept = forgotten ?? (await valueIn(values, "forgotten"));
    const damage = await valueIn(values, "damage");
    await Promise.all(names.map((name) => writing.objectStore(name).clear()));
    if (kept !== null) await keep(values, "forgotten", kept);
    if (damage !== null) await keep(values, "damage", damage);
    await writing.done;
  }
}

/** Samples whose label the owner said when asked, those whose label the page saw happen, and those that have none. */
export interface LabelsHeld {
  readonly asked: number;
  readonly implied: number;
  readonly unlabelled: number;
}

/** The personal model that a round has trained. */
export interface Trained {
  readonly model: OwnModel;
  /** How it did beside the version; null: they were not compared. */
  readonly tuned: Tuned | null;
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

const stateAfter = ({ state, remembered }: Spooled): KeptState => ({
  value: state,
  ...(remembered === undefined ? {} : { remembered }),
});

const isOf = (part: StreamPart, other: StreamPart): boolean =>
  part.federation === other.federation && part.apart === other.apart;

const spentOf = (told: readonly Told[]): number => told.reduce((sum, { mu2 }) => sum + mu2, 0);

/** Where a row is kept, which its seal covers, so that none passes for another. */
const placeOf = (name: SealedStore, key: string | number): string => `${name} ${key}`;

/** The row that is kept there; null: the disk has damaged it. */
const soundIn = <N extends SealedStore>(name: N, key: Key<N>, kept: Schema[N]["value"]): Row<N> | null =>
  opened<Row<N>>(placeOf(name, key), kept as Sealed<Row<N>>);

function keep<K extends keyof Values>(values: Writing<"values">, name: K, value: Values[K]): Promise<unknown> {
  return values.put(sealed(placeOf("values", name), { value }), name);
}

/** As `Store.get`, within a transaction: what is damaged stays for that. */
async function valueIn<K extends keyof Values>(values: Writing<"values">, name: K): Promise<Values[K] | null> {
  const kept = await values.get(name);
  if (kept === undefined) return null;
  const row = soundIn("values", name, kept);
  const { code, sentence, instead } = LOSSES[name];
  if (row === null && code !== undefined) throw new CodedError(code, sentence);
  return row === null ? (instead?.() ?? null) : (row.value as Values[K]);
}

/**
 * How far the log was ever read, as it was noted; where the disk has damaged that, as the last entry says, if it is sound.
 * Throws CodedError `agent.log_damaged`.
 */
async function logEndIn(writing: WritingLog): Promise<LogEnd> {
  const kept = await writing.objectStore("values").get("logEnd");
  if (kept === undefined) return { length: 0, head: EMPTY };
  const row = soundIn("values", "logEnd", kept);
  if (row !== null) return row.value as LogEnd;
  const last = await writing.objectStore("identity_log").openCursor(null, "prev");
  const entry = last === null ? null : soundIn("identity_log", last.primaryKey, last.value);
  const { code = "", sentence } = LOSSES.logEnd;
  if (entry === null) throw new CodedError(code, sentence);
  return await keepLogEnd(writing, entry);
}

async function keepLogEnd(writing: WritingLog, { position: length, head }: Logged): Promise<LogEnd> {
  const end = { length, head };
  await keep(writing.objectStore("values"), "logEnd", end);
  return end;
}

/** Whether what is remembered of a sum is of `assignment`, also where the disk has damaged the rest of it. */
async function isSumOf(values: Writing<"values">, sum: "sum" | "questionSum", assignment: string): Promise<boolean> {
  return ((await values.get(sum))?.value as SumState | undefined)?.assignment === assignment;
}

async function note(values: Writing<"values">, sentence: string, count: number): Promise<void> {
  await keep(values, "damage", noted((await valueIn(values, "damage")) ?? [], sentence, count, Date.now()));
}

/** Keep rows under numbers that the browser gives, in their order; the last number, 0 where there are no rows. */
async function append<N extends "samples" | "unlabelled" | "receipts">(
  name: N,
  store: Writing<N>,
  rows: readonly Omit<Row<N>, "id">[],
): Promise<number> {
  const [first] = rows;
  if (first === undefined) return 0;
  const from = await store.add(first as Schema[N]["value"]);
  const made = rows.map((row, at) => sealed(placeOf(name, from + at), { ...row, id: from + at }));
  await Promise.all(made.map((row) => store.put(row as unknown as Schema[N]["value"])));
  return from + rows.length - 1;
}

/** Those that the edition `from` of the database lacks. */
function makeStores(fresh: IDBPDatabase<Schema>, from: number): void {
  if (from > 6) return;
  fresh.createObjectStore("taught", { keyPath: "sample" });
  if (from > 4) return;
  fresh.createObjectStore("answered", { keyPath: "answer" });
  if (from > 3) return;
  fresh.createObjectStore("identity_log", { keyPath: "position" }).createIndex("device", "device", { unique: true });
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
}

type Upgrading = IDBPTransaction<Schema, StoreNames<Schema>[], "versionchange">;

/** Bring the rows of the edition `from` to this one. */
async function bringUp(upgrading: Upgrading, from: number): Promise<void> {
  if (from === 0) return;
  if (from < 6) await sealAll(upgrading);
  await noteLogEnd(upgrading);
  if (from === 7) return;
  await dateSamples(upgrading);
  // Trainings have kept more since: those under way begin anew.
  for (const name of ["saved", "tuning"] as const) await upgrading.objectStore("values").delete(name);
}

/** Seal the rows that were kept before rows had seals. */
async function sealAll(upgrading: Upgrading): Promise<void> {
  for (const name of upgrading.objectStoreNames) {
    if (name === "blobs") continue;
    const isNamed = name === "values" || name === "states";
    let cursor = await upgrading.objectStore(name).openCursor();
    while (cursor !== null) {
      const row = isNamed ? { value: cursor.value } : cursor.value;
      await cursor.update(sealed(placeOf(name, cursor.primaryKey), row) as typeof cursor.value);
      cursor = await cursor.continue();
    }
  }
}

/** The log of identities that was kept before its end was noted ends with its last sound entry. */
async function noteLogEnd(upgrading: Upgrading): Promise<void> {
  let last = await upgrading.objectStore("identity_log").openCursor(null, "prev");
  while (last !== null) {
    const entry = soundIn("identity_log", last.primaryKey, last.value);
    if (entry !== null) {
      const end = { length: entry.position, head: entry.head };
      await upgrading.objectStore("values").put(sealed(placeOf("values", "logEnd"), { value: end }), "logEnd");
      return;
    }
    last = await last.continue();
  }
}

/** Samples that were kept before it was noted when they came have come now. */
async function dateSamples(upgrading: Upgrading): Promise<void> {
  let cursor = await upgrading.objectStore("samples").openCursor();
  while (cursor !== null) {
    const place = placeOf("samples", cursor.primaryKey);
    const row = opened(place, cursor.value);
    if (row !== null) await cursor.update(sealed(place, { ...row, at: Date.now() }));
    cursor = await cursor.continue();
  }
}

const isFrom = (sources: ReadonlySet<string>, source: string | undefined): boolean =>
  source !== undefined && sources.has(source);
