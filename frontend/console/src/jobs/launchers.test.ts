import { expect, it } from "vitest";
import { launcherChoices, launcherName } from "./launchers";

it("offers every launcher with the places of its hosts", () => {
  expect(launcherChoices([{ name: "slurm", hosts: 1, places: 64 }]).map((choice) => choice.label)).toEqual([
    "Whoever has room",
    "The platform's hosts (no host)",
    "Kubernetes (no host)",
    "SLURM (64 places)",
  ]);
});

it("calls a launcher that it does not know by its name", () => {
  expect(launcherName("nomad")).toBe("nomad");
});
