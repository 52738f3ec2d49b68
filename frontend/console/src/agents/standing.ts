import { numbers } from "../components/locale";
import { t } from "../language/t";
import type { AgentReleases, AgentRollout, AgentVersion } from "./queries";

const SHARE = numbers({ style: "percent", maximumFractionDigits: 1 });

export function isActive(rollout: AgentRollout): boolean {
  return rollout.state === "running" || rollout.state === "paused";
}

/** How many devices are where. */
export interface Progress {
  /** Could be asked in all. */
  readonly devices: number;
  /** Were asked so far. */
  readonly asked: number;
  readonly installed: number;
  /** Have not said how it went. */
  readonly open: number;
  /** Could not use it, or went back by themselves. */
  readonly failed: number;
  /** Went back since the platform had them. */
  readonly returned: number;
}

export function progressOf({ figures }: AgentRollout): Progress {
  const many = (name: string) => {
    const value = (figures as Readonly<Record<string, unknown>>)[name];
    return typeof value === "number" ? value : 0;
  };
  const open = many("asked") + many("waiting");
  const failed = many("failed") + many("refused");
  const [installed, returned] = [many("installed"), many("returned")];
  return { devices: many("devices"), asked: open + failed + installed + returned, installed, open, failed, returned };
}

/** How each phase stands: "5%", "25%, now", "100%". */
export function phasesOf({ phases, phase, state }: AgentRollout): string {
  const named = phases.map((share) => SHARE.format(share));
  const now = state === "running" || state === "paused";
  return named.map((share, place) => (place === phase && now ? t`${share} now` : share)).join(t`, then `);
}

export function share(of: number): string {
  return SHARE.format(of);
}

/** Shares of 1 that ascend, from percentages as they are typed: "5, 25, 100"; undefined: they are none. */
export function phasesIn(typed: string): readonly number[] | undefined {
  const parts = typed.split(/[\s,;%]+/).filter(Boolean);
  const shares = parts.map((part) => Number(part) / 100);
  const ascend = shares.every((one, place) => one > (shares[place - 1] ?? 0) && one <= 1);
  return shares.length > 0 && ascend ? shares : undefined;
}

/** Whether a release is older than another: "0.9" than "0.10"; what is no release's number is not. */
function isOlder(version: string, than: string): boolean {
  const [parts, others] = [version.split(".").map(Number), than.split(".").map(Number)];
  if ([...parts, ...others].some(Number.isNaN)) return false;
  for (let place = 0; place < Math.max(parts.length, others.length); place += 1) {
    const difference = (parts[place] ?? 0) - (others[place] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** How many of the devices would take a release: those that take any, and have an older one. */
export function takersOf(versions: readonly AgentVersion[], release: string): number {
  return versions.reduce((sum, one) => sum + (isOlder(one.version, release) ? one.taking : 0), 0);
}

/** Why nothing of the repository can be rolled out; undefined: it can. */
export function whyNoRelease({ served, releases, expiries }: AgentReleases): string | undefined {
  if (!served)
    return t`There is no release to roll out: the platform has no repository. “coterie releases init” makes one, “coterie releases publish” brings it.`;
  if (releases.length === 0)
    return t`There is no release to roll out: “coterie releases add” adds one to the repository.`;
  const expired = expiries.filter((one) => one.expired).map(({ role }) => role);
  const roles = expired.join(t` and `);
  return expired.length === 0
    ? undefined
    : t`What ${roles} signed has expired, so devices take nothing: run “coterie releases refresh”, or “renew”.`;
}
