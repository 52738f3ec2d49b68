/** All that is known of this device, here and at the platform, as one JSON document without secrets and samples: a mirror of `coterie_agent.exporting`. */
import type { Device } from "./device";
import { Unreachable } from "./failure";
import type { Store } from "./store";

const FORMAT = "coterie-phone-export/1";
const PLATFORM_FORMAT = "coterie-platform-export/1";

/** The document, and whether the platform's part is in it, which is missing without a network. Throws Refused. */
export async function exportDevice(store: Store, device: Device): Promise<{ document: string; isWhole: boolean }> {
  const platform = await platformPart(store, device); // first: what is sent counts it
  const [
    identity,
    owner,
    agreed,
    receipts,
    finished,
    answered,
    tuned,
    forms,
    labelling,
    helped,
    told,
    damaged,
    stored,
  ] = await Promise.all([
    store.get("identity"),
    store.get("owner"),
    store.get("agreed"),
    store.receipts(Number.POSITIVE_INFINITY),
    store.finished(),
    store.answered(),
    store.get("tuned"),
    device.knownForms(),
    store.get("labelling"),
    store.get("helped"),
    device.budget.told(),
    store.damage(),
    store.rows(),
  ]);
  const { conditions, blockers, version } = device.situation.now;
  const document = {
    format: FORMAT,
    at: new Date().toISOString(),
    device: identity?.device ?? null,
    name: identity?.name ?? null,
    joined_at: identity === null ? null : new Date(identity.joinedAt).toISOString(),
    platform_keys: identity?.platformKeys ?? null,
    settings: owner,
    agreed: (agreed ?? []).map(({ at, ...rest }) => ({ at: new Date(at).toISOString(), ...rest })),
    report: { conditions, blockers, version },
    sent: receipts.map(({ at, ...rest }) => ({ at: new Date(at).toISOString(), ...rest })),
    finished: finished.map(({ at, ...rest }) => ({ at: new Date(at).toISOString(), ...rest })),
    answered: answered.map(({ at, ...rest }) => ({ at: new Date(at).toISOString(), ...rest })),
    personal_model: tuned,
    forms,
    helped: (helped ?? []).map(({ at, ...rest }) => ({ at: new Date(at).toISOString(), ...rest })),
    told_under_noise: told,
    questions: labelling,
    damaged: damaged.map(({ at, ...rest }) => ({ at: new Date(at).toISOString(), ...rest })),
    stored,
    platform,
  };
  return { document: JSON.stringify(document, null, 1), isWhole: platform !== null };
}

async function platformPart(store: Store, device: Device): Promise<object | null> {
  try {
    const sections = await device.platformKnows();
    const identity = await store.get("identity");
    return { format: PLATFORM_FORMAT, at: new Date().toISOString(), device: identity?.device ?? "", sections };
  } catch (error) {
    if (error instanceof Unreachable) return null;
    throw error;
  }
}
