/** One plan, one version, and what a device works with that is a member of a federation between rounds. */
import { readVersion } from "../../learning/client_round";
import { renewed } from "../../learning/heads";
import type { HelpRules } from "../../learning/help";
import type { DevicePlan } from "../../learning/plan";
import { judge } from "../../learning/verdict";
import type { Manifest } from "../../wire/bundle";
import type { StandingPlan } from "../../wire/messages";
import { encodeTensors, type Tensors } from "../../wire/tensors";
import type { Helped, Values } from "../kept";
import type { Link } from "../link";
import { frozenOf, type ReadPart } from "../opened";
import { ownTensors } from "../personal";
import { Predictor } from "../predictor";
import { fairSamples } from "../reading";
import type { PeersChoices } from "../sharing";
import { PEERS_DEFAULT } from "../sharing";
import type { Now } from "../situation";
import type { Store } from "../store";

const HELPED_KEPT = 50;

export interface Membership {
  readonly standing: StandingPlan;
  readonly plan: DevicePlan;
  readonly manifest: Manifest;
  readonly store: Store;
  readonly link: Link;
  readonly part: ReadPart;
  readonly chunkBytes: number;
  readonly now: () => Now;
  readonly isOffline: () => boolean;
  /** Whether something else is to be done, or conditions are lost. */
  readonly mustStop: () => boolean;
  /** Have the platform answer at once. */
  readonly checkIn: () => void;
}

/** Where devices help each other. */
export interface HelpingMembership extends Membership {
  readonly rules: HelpRules;
}

/** Keep values while the same plan holds; see `Store.writeUnder`. */
export const write = (
  { store, standing }: Membership,
  kept: Partial<Values>,
  ...gone: (keyof Values)[]
): Promise<boolean> => store.writeUnder(standing.digest, kept, ...gone);

export const choicesOf = async ({ store }: Membership): Promise<PeersChoices> =>
  (await store.get("owner"))?.peers ?? PEERS_DEFAULT;

/** How the latest requests and transfers ended, with one more. */
export async function withEnded({ store }: Membership, ended: Omit<Helped, "at">): Promise<readonly Helped[]> {
  const before = ((await store.get("helped")) ?? []).filter(({ name }) => name !== ended.name);
  return [{ ...ended, at: Date.now() }, ...before].slice(0, HELPED_KEPT);
}

/** What `use` gives of the predicting graph, which is closed then. Throws CodedError `model.*` or `tensors.*`. */
export async function withPredictor<T>(
  { manifest, part }: Membership,
  use: (predictor: Predictor) => Promise<T>,
): Promise<T> {
  const frozen = await frozenOf(manifest, part);
  const predictor = await Predictor.open(await part(manifest.predict.sha256), manifest.model, frozen);
  try {
    return await use(predictor);
  } finally {
    await predictor.close();
  }
}

/** The true and the most likely classes of the samples `ids`, by each of `versions`. Throws CodedError `data.*` or `model.*`. */
export async function predicted(
  { store }: Membership,
  predictor: Predictor,
  ids: readonly number[],
  versions: readonly Tensors[],
): Promise<{ readonly labels: readonly number[]; readonly classes: readonly (readonly number[])[] }> {
  const rows = await store.load(ids);
  const xs = rows.map(({ x }) => x);
  const classes: number[][] = [];
  for (const version of versions) classes.push((await predictor.outputs(version, xs)).map(greatest));
  return { labels: rows.map(({ label }) => label), classes };
}

/** Samples to compare models on. */
export async function fair({ store, plan, manifest }: Membership): Promise<readonly number[]> {
  const [ids, reading] = await Promise.all([store.sampleIds(), store.get("reading")]);
  return fairSamples(ids, reading, (plan.help?.recentBatches ?? 0) * manifest.model.batch_size);
}

/**
 * The parameters of the personal model on the version that the device holds. Where they came from another version, they
 * stay if rounds train them, or if they do better on the newest samples by more than noise; from another federation, unless
 * they do worse.
 * Throws CodedError `bundle.*`, `model.*` or `tensors.*`.
 */
export async function ownParameters(membership: Membership): Promise<Tensors> {
  const { store, standing, plan, manifest, part } = membership;
  const own = await store.get("own");
  const known = ownTensors(own, manifest);
  const isElsewhere = own?.federation !== standing.federation;
  if (known !== null && own?.base === manifest.version && !isElsewhere) return known;
  const received = readVersion(await part(manifest.parameters.sha256), manifest.model);
  const isKept = !isElsewhere && plan.local.trainsPersonalModel;
  const stays = known !== null && (isKept || (await isBetter(membership, known, received, isElsewhere)));
  const parameters = stays ? renewed(known, received, manifest.model, plan.local.scope) : received;
  const { federation } = standing;
  await write(membership, { own: { base: manifest.version, federation, tensors: encodeTensors(parameters) } });
  return parameters;
}

/** Whether the personal model `own` stays beside the version that was `received`. */
async function isBetter(
  membership: Membership,
  own: Tensors,
  received: Tensors,
  isElsewhere: boolean,
): Promise<boolean> {
  const ids = await fair(membership);
  if (ids.length === 0 || membership.manifest.model.task !== "classes") return isElsewhere;
  return await withPredictor(membership, async (predictor) => {
    const { labels, classes } = await predicted(membership, predictor, ids, [own, received]);
    const [byOwn, byVersion] = classes as [number[], number[]];
    return isElsewhere ? !judge(labels, byOwn, byVersion).kept : judge(labels, byVersion, byOwn).kept;
  });
}

/** The first of the greatest, as NumPy's argmax. */
const greatest = (numbers: readonly number[]): number => numbers.indexOf(Math.max(...numbers));
