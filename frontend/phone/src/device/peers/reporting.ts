/** What a member tells the platform of its data: a profile, as far as its owner lets it be told. */
import { drawnKey } from "../../learning/noise";
import { type SampleNoise, sampleNoise } from "../../learning/profile_noise";
import { isDrifting, reportOf, type Watch } from "../../learning/watch";
import type { Profile } from "../../wire/helping";
import { PRIVACY_DEFAULT } from "../budget";
import { isRetryable, Refused } from "../failure";
import type { Reading } from "../kept";
import { NOTHING } from "../link";
import { shareProfile } from "../sharing";
import { choicesOf, type HelpingMembership, write } from "./membership";

/** Of the profiles that the device tells; null: nothing bounds what they tell. */
export async function noiseOf({ rules, store }: HelpingMembership): Promise<SampleNoise | null> {
  return sampleNoise(rules, ((await store.get("owner"))?.privacy ?? PRIVACY_DEFAULT).delta);
}

/** Report the profile. Throws Unreachable or Refused. */
export async function report(membership: HelpingMembership, before: Reading, watch: Watch): Promise<void> {
  const { rules } = membership;
  const [choices, noise] = await Promise.all([choicesOf(membership), noiseOf(membership)]);
  const { told, after } = reportOf(watch, rules, drawnKey());
  const [batch, drifting, willing] = [before.batches, isDrifting(watch), choices.helpOthers];
  const reading = { ...before, watch: after };
  // Other noise on the same samples would tell more, so none is drawn for a retry.
  const isKept =
    rules.noiseMultiplier === 0 || (await write(membership, { reading: { ...reading, reportedDrifting: null } }));
  if (!isKept) return;
  await send(membership, shareProfile(told, choices.tell, { batch, drifting, willing, noise }));
  await write(membership, { reading: { ...reading, reportedDrifting: drifting } });
}

/** Withdraw what was reported, since the owner wants nothing told. Throws Unreachable or Refused. */
export async function withdrawReport(membership: HelpingMembership, before: Reading, watch: Watch): Promise<void> {
  const [batch, drifting, noise] = [before.batches, isDrifting(watch), await noiseOf(membership)];
  await send(
    membership,
    shareProfile({ samples: [], wrong: [] }, "nothing", { batch, drifting, willing: false, noise }),
  );
  await write(membership, {
    reading: { ...before, watch: { ...watch, reported: [], reportedWrong: [] }, reportedDrifting: drifting },
  });
}

async function send({ link, standing }: HelpingMembership, profile: Profile): Promise<void> {
  try {
    await link.call("report-profile", { federation: standing.federation, profile }, NOTHING);
  } catch (error) {
    if (!(error instanceof Refused) || error.isRevoked || isRetryable(error)) throw error;
    console.warn(`the platform takes no profile: ${error.message} [${error.code}]`);
  }
}
