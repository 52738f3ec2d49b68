import type { components } from "../api/schema";
import { t } from "../language/t";

export type Launcher = components["schemas"]["Launcher"];

/** What people call who starts workers. */
const NAMES: Readonly<Record<string, string>> = {
  any: t`Whoever has room`,
  here: t`The platform's hosts`,
  kubernetes: "Kubernetes",
  slurm: "SLURM",
};

export function launcherName(launcher: string): string {
  return NAMES[launcher] ?? launcher;
}

/** What may be chosen: all launchers, with the room of those whose hosts are there. */
export function launcherChoices(present: readonly Launcher[]): { value: string; label: string }[] {
  return Object.keys(NAMES).map((value) => {
    const found = present.find((one) => one.name === value);
    const name = launcherName(value);
    if (value === "any") return { value, label: name };
    return { value, label: found === undefined ? `${name} (no host)` : `${name} (${found.places} places)` };
  });
}
