/**
 * What the browser keeps of the device, in IndexedDB: each change that belongs together is one transaction.
 *
 * OPFS writes large files faster, and is not there everywhere (WebKit over http); models for phones are a few MB.
 */
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { Sample } from "../learning/batches";
import type { Checkpoint } from "../learning/client_round";
import { sha256Hex } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import type { Assignment, OfferUpdate, Requirements, SignedManifest } from "../wire/messages";
import type { PlatformKeys } from "../wire/platform_keys";
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

export interface OwnerChoices {
  readonly policy: Requirements;
  /** Until when the owner has paused training, in milliseconds since 1970; 0: not paused. */
  readonly pausedUntil: number;
}

interface Values {
  identity: Identity;
  owner: OwnerChoices;
  assignment: Assignment;
  saved: Saved;
  spooled: Spooled;
  model: SignedManifest;
  train_step_s: number;
  upload_s: number;
  /** The number under which the owner has the device forgotten. */
  receipt: string;
}

interface Schema extends DBSchema {
  values: { key: string; value: Values[keyof Values] };
  samples: { key: number; value: Sample };
  states: { key: string; value: Uint8Array };
  finished: { key: string; value: Finished };
  blobs: { key: string; value: Uint8Array };
  receipts: { key: number; value: Receipt };
}

const RECEIPTS_KEPT = 1000;
const FINISHED_KEPT = 200;
const STRICT = { durability: "strict" } as const;

export class Store {
  private constructor(private readonly db: IDBPDatabase<Schema>) {}

  static async open(): Promise<Store> {
    const db = await openDB<Schema>("coterie-device", 1, {
      upgrade(fresh) {
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

  /** Take an assignment in hand; what was left of another is dropped. */
  async accept(assignment: Assignment): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    const { store } = writing;
    await Promise.all([
      store.put(assignment, "assignment"),
      store.delete("saved"),
      store.delete("spooled"),
      writing.done,
    ]);
  }

  /** The update is ready: it replaces the checkpoint. */
  async spool(spooled: Spooled): Promise<void> {
    const writing = this.db.transaction("values", "readwrite", STRICT);
    await Promise.all([writing.store.put(spooled, "spooled"), writing.store.delete("saved"), writing.done]);
  }

  /** The spooled update; one that the disk has damaged is forgotten, so that it is trained anew. */
  async spooled(): Promise<Spooled | null> {
    const found = await this.get("spooled");
    if (found === null || sha256Hex(found.payload) === found.offer.sha256) return found;
    await this.db.delete("values", "spooled");
    return null;
  }

  /** The assignment in hand has ended; where its update was accepted, the state that follows from it is kept. */
  async finish(finished: Finished): Promise<void> {
    const writing = this.db.transaction(["values", "states", "finished"], "readwrite", STRICT);
    const [values, states, ended] = [
      writing.objectStore("values"),
      writing.objectStore("states"),
      writing.objectStore("finished"),
    ];
    const spooled = (await values.get("spooled")) as Spooled | undefined;
    if (finished.outcome === "accepted" && spooled !== undefined) await states.put(spooled.state, finished.federation);
    await ended.put(finished);
    for (const key of ["assignment", "saved", "spooled"]) await values.delete(key);
    const every = await ended.getAll();
    every.sort((a, b) => b.at - a.at);
    for (const { assignment } of every.slice(FINISHED_KEPT)) await ended.delete(assignment);
    await writing.done;
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

  async deleteSamples(): Promise<void> {
    await this.db.clear("samples");
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

  /** What is known of all samples, and how many each class has. */
  async held(): Promise<Held & { readonly counts: readonly number[] }> {
    let [samples, features, targets] = [0, 0, 0];
    const counts: number[] = [];
    let cursor = await this.db.transaction("samples").store.openCursor();
    while (cursor !== null) {
      const { x, target, label } = cursor.value;
      if (samples === 0) [features, targets] = [x.length, target.length];
      samples += 1;
      if (target.length === 0) {
        while (counts.length <= label) counts.push(0);
        counts[label] = (counts[label] ?? 0) + 1;
      }
      cursor = await cursor.continue();
    }
    return { samples, features, targets, classes: counts.length, counts };
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

  /** Forget everything but the samples, which are the owner's. */
  async forgetDevice(): Promise<void> {
    const names = ["values", "states", "finished", "blobs", "receipts"] as const;
    const writing = this.db.transaction(names, "readwrite", STRICT);
    await Promise.all([...names.map((name) => writing.objectStore(name).clear()), writing.done]);
  }
}
