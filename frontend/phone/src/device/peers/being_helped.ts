/** Asks for help, merges the portion received, evaluates it on the newest samples, and keeps the better model: a mirror of `coterie_agent.peers.being_helped`. */
import { drawnKey } from "../../learning/noise";
import { decodePortion, mergePortion, termsOf } from "../../learning/portions/payload";
import { judge } from "../../learning/verdict";
import { asked as afterAsking, requestOf, type Watch } from "../../learning/watch";
import { CodedError } from "../../wire/errors";
import type { AskHelp, GiveVerdict } from "../../wire/helping";
import { HelpNews, type Portion } from "../../wire/messages";
import { encodeTensors, type Tensors } from "../../wire/tensors";
import { isRetryable, Refused, reasonOf } from "../failure";
import type { Helped, Reading, Unanswered } from "../kept";
import { NOTHING } from "../link";
import { shareProfile } from "../sharing";
import { named } from "./helping";
import {
  choicesOf,
  fair,
  type HelpingMembership,
  ownParameters,
  predicted,
  withEnded,
  withPredictor,
  write,
} from "./membership";
import { noiseOf } from "./reporting";

const PORTIONS_KEPT = 16;

/** Keep a request with the reading after it, and send it. Throws Unreachable or Refused; the request stays kept. */
export async function ask(membership: HelpingMembership, reading: Reading, watch: Watch): Promise<void> {
  const { rules, standing } = membership;
  const { classes, counts } = requestOf(watch, rules, drawnKey());
  const after = { ...reading, watch: afterAsking(watch) };
  if (classes.length === 0) {
    await write(membership, { reading: after }); // none that needs help stands out from the noise
    return;
  }
  const [{ tell }, noise] = await Promise.all([choicesOf(membership), noiseOf(membership)]);
  const told = { batch: reading.batches, drifting: true, willing: false, noise };
  const request: AskHelp = {
    request: crypto.randomUUID(),
    federation: standing.federation,
    classes,
    profile: shareProfile(counts, tell, told),
  };
  if (await write(membership, { asked: request, reading: after }, "unanswered")) await send(membership, request);
}

/** Ask, or ask again. Throws Unreachable or Refused; a refusal that no retry can change ends the request. */
export async function send(membership: HelpingMembership, asked: AskHelp): Promise<void> {
  try {
    await membership.link.call("ask-help", asked, HelpNews);
  } catch (error) {
    if (error instanceof Refused && !error.isRevoked && !isRetryable(error)) {
      await end(membership, asked, "unanswered", error.message);
    }
    throw error;
  }
  membership.checkIn();
}

/** Withdraw the request, because the device has recovered by itself. Throws Unreachable or Refused. */
export async function withdraw(membership: HelpingMembership, asked: AskHelp): Promise<void> {
  await membership.link.call("withdraw-help", { request: asked.request }, NOTHING);
  await end(membership, asked, "withdrawn", `${named(asked.classes)}: recovered without help`);
}

/** The platform has ended the request without a portion. */
export async function endUnanswered(
  membership: HelpingMembership,
  asked: AskHelp,
  { state, reason }: HelpNews,
): Promise<void> {
  const sentence = `${named(asked.classes)}: ${reason?.sentence ?? state}`;
  const unanswered = reason === null ? null : { classes: asked.classes, reason };
  await end(membership, asked, "unanswered", sentence, unanswered);
}

/**
 * Fetch the portion, merge it into the personal model and keep the better model on the newest samples. A portion that
 * cannot be used is declined. Throws Unreachable, Refused, or CodedError `bundle.*` or `model.*`.
 */
export async function tryOut(membership: HelpingMembership, asked: AskHelp, portion: Portion): Promise<void> {
  const { link, manifest, plan, standing, store } = membership;
  const { transfer, content } = portion;
  const payload = await link.downloadPortion(transfer, content);
  const [own, newest] = [await ownParameters(membership), await fair(membership)];
  let merged: Tensors;
  try {
    if (newest.length === 0) throw new CodedError("data.no_samples", "no samples are left to compare models on");
    const terms = termsOf(plan, manifest.model, asked.classes);
    const { counts } = await store.held();
    const known = counts.flatMap((count, label) => (count > 0 ? [label] : []));
    merged = mergePortion(terms, own, decodePortion(terms, payload), known);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    await link.call("decline-transfer", { transfer, reason: reasonOf(error) }, NOTHING);
    membership.checkIn();
    return;
  }
  await link.call("report-merged", { transfer }, NOTHING);
  const { labels, classes } = await withPredictor(membership, (predictor) =>
    predicted(membership, predictor, newest, [own, merged]),
  );
  const [before, after] = classes as [number[], number[]];
  const found = judge(labels, before, after);
  const verdict: GiveVerdict = {
    transfer,
    kept: found.kept,
    accuracy_before: found.before,
    accuracy_after: found.after,
    samples: labels.length,
  };
  if (!found.kept) {
    await write(membership, { verdict });
    return;
  }
  const { federation } = standing;
  const [known, inHand, saved] = await Promise.all([
    store.get("portions"),
    store.get("assignment"),
    store.get("saved"),
  ]);
  const during = saved === null || inHand === null ? {} : { during: inHand.assignment };
  const portions = [
    ...(known ?? []),
    { transfer, plan: standing.plan, classes: asked.classes, payload, ...during },
  ].slice(-PORTIONS_KEPT);
  await write(membership, {
    verdict,
    portions,
    own: { base: manifest.version, federation, tensors: encodeTensors(merged) },
  });
}

/** Report the verdict and end the request. Throws Unreachable, and Refused where trying again can help. */
export async function tellVerdict(membership: HelpingMembership, asked: AskHelp, verdict: GiveVerdict): Promise<void> {
  try {
    await membership.link.call("give-verdict", verdict, NOTHING);
  } catch (error) {
    // Any other refusal: the platform has ended the request, and a portion that was kept stays.
    if (!(error instanceof Refused) || error.isRevoked || isRetryable(error)) throw error;
  }
  const outcome = verdict.kept ? "kept" : "undone";
  const [before, after] = [verdict.accuracy_before.toFixed(3), verdict.accuracy_after.toFixed(3)];
  const sentence = `help with ${named(asked.classes)} ${outcome}: accuracy ${before} without, ${after} with it`;
  await end(membership, asked, outcome, sentence);
}

async function end(
  membership: HelpingMembership,
  { request }: AskHelp,
  outcome: Helped["outcome"],
  sentence: string,
  unanswered: Unanswered | null = null,
): Promise<void> {
  const helped = await withEnded(membership, { name: request, outcome, sentence: sentence.slice(0, 400) });
  await write(membership, { helped, ...(unanswered === null ? {} : { unanswered }) }, "asked", "verdict");
}
