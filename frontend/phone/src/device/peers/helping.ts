/** Sends a portion of the personal model to a device that asked for help, where the owner allows it: a mirror of `coterie_agent.peers.helping`. */
import { drawnKey } from "../../learning/noise";
import { privacyNamed } from "../../learning/plan";
import { encodePortion, termsOf } from "../../learning/portions/payload";
import { sha256Hex, utf8 } from "../../wire/bytes";
import { CodedError } from "../../wire/errors";
import type { Reason, Serve } from "../../wire/messages";
import { isRetryable, Refused, reasonOf } from "../failure";
import type { Helped, Serving } from "../kept";
import { deliver, NOTHING } from "../link";
import { choicesOf, type HelpingMembership, ownParameters, withEnded, write } from "./membership";

const UNWILLING: Reason = { code: "help.unwilling", sentence: "the owner of this device does not let it help others" };

/** Classes for people. */
export const named = (classes: readonly number[]): string =>
  `class${classes.length === 1 ? "" : "es"} ${classes.join(", ")}`;

/**
 * Upload the portion, or decline; where the network goes before, the next call resumes the upload. Throws Unreachable,
 * and Refused where trying again can help or the device's credential has ended.
 */
export async function serve(membership: HelpingMembership, asked: Serve): Promise<void> {
  const { link, store, chunkBytes, isOffline: stop, standing } = membership;
  const { transfer } = asked;
  if (!(await choicesOf(membership)).helpOthers) {
    await decline(membership, transfer, UNWILLING);
    return;
  }
  let serving = await store.get("serving");
  if (serving?.offer.transfer !== transfer) {
    try {
      serving = await made(membership, asked);
    } catch (error) {
      if (!(error instanceof CodedError) || !/^(portion|update)\./.test(error.code)) throw error;
      await decline(membership, transfer, reasonOf(error));
      return;
    }
    if (!(await write(membership, { serving }))) return;
  }
  const { offer, payload } = serving;
  try {
    if ((await deliver(link, "portion", offer, payload, { chunkBytes, stop })) === "stopped") return;
  } catch (error) {
    if (!(error instanceof Refused) || error.isRevoked || isRetryable(error)) throw error;
    await end(membership, { name: transfer, outcome: "declined", sentence: error.message.slice(0, 400) });
    return;
  }
  const sentence = `helped another device with ${named(asked.classes)}: ${offer.size_bytes} bytes`;
  await end(membership, { name: transfer, outcome: "served", sentence, privacy: privacyNamed(standing.plan) });
}

async function made(membership: HelpingMembership, { transfer, classes }: Serve): Promise<Serving> {
  const { plan, manifest } = membership;
  const terms = termsOf(plan, manifest.model, classes);
  const seed = Number.parseInt(sha256Hex(utf8(transfer)).slice(0, 12), 16);
  const payload = encodePortion(terms, await ownParameters(membership), { seed, secret: drawnKey() });
  return { offer: { transfer, sha256: sha256Hex(payload), size_bytes: payload.length }, payload };
}

async function decline(membership: HelpingMembership, transfer: string, reason: Reason): Promise<void> {
  await membership.link.call("decline-transfer", { transfer, reason }, NOTHING);
  await end(membership, { name: transfer, outcome: "declined", sentence: reason.sentence });
}

async function end(membership: HelpingMembership, ended: Omit<Helped, "at">): Promise<void> {
  await write(membership, { helped: await withEnded(membership, ended) }, "serving");
}
