import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { DeviceActions } from "./DeviceActions";
import type { Device } from "./queries";

const DEVICE = {
  id: "7f0d1c5e-0000-4000-8000-000000000001",
  name: "kitchen-1",
  state: "enrolled",
  tags: ["kiosk"],
  paused_at: null,
  quarantine: "",
  pinned_version: "",
  held_version: "",
  notes: "",
  archived_at: null,
} as unknown as Device;

it("renames, tags and notes in one go", async () => {
  signedIn("fleet.change_device");
  const sent: unknown[] = [];
  answers("patch", "/api/devices/{id}/", async (request) => {
    sent.push(await request.json());
    return DEVICE;
  });
  await show(<DeviceActions device={DEVICE} />);
  const edit = screen.getByRole("button", { name: "Edit" });
  await waitFor(() => expect(edit.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(edit);
  await userEvent.clear(await screen.findByLabelText(/^Name/));
  const save = screen.getByRole("button", { name: "Save" });
  expect(save.getAttribute("aria-disabled")).toBe("true"); // without a name it cannot be saved
  await userEvent.type(screen.getByLabelText(/^Name/), "Hall 3");
  await userEvent.type(screen.getByRole("combobox", { name: "Tags" }), "lobby{Enter}");
  await userEvent.type(screen.getByLabelText("Notes"), "Off at night.");
  await userEvent.click(save);
  await waitFor(() => expect(sent).toEqual([{ name: "Hall 3", notes: "Off at night.", tags: ["kiosk", "lobby"] }]));
});

it("archives a device that was revoked, and one of the fleet not", async () => {
  signedIn("fleet.archive_device");
  let archived = 0;
  answers("post", "/api/devices/{id}/archive/", () => {
    archived += 1;
    return DEVICE;
  });
  await show(<DeviceActions device={{ ...DEVICE, state: "revoked" }} />);
  expect(screen.queryByRole("button", { name: "Revoke" })).toBeNull();
  const archive = screen.getByRole("button", { name: "Archive" });
  await waitFor(() => expect(archive.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(archive);
  await waitFor(() => expect(archived).toBe(1));
});

it("releases a device from quarantine, when that was meant", async () => {
  signedIn("fleet.resume_device");
  let released = 0;
  answers("post", "/api/devices/{id}/resume/", () => {
    released += 1;
    return DEVICE;
  });
  const held = { ...DEVICE, paused_at: "2026-01-01T00:00:00Z", quarantine: "merges left out 3 of its updates" };
  await show(<DeviceActions device={held as Device} />);
  const release = screen.getByRole("button", { name: "Release" });
  await waitFor(() => expect(release.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(release);
  const dialog = await screen.findByRole("dialog");
  expect(dialog.textContent).toContain("no longer counts against it");
  expect(released).toBe(0);
  await userEvent.click([...dialog.querySelectorAll("button")].at(-1) as Element);
  await waitFor(() => expect(released).toBe(1));
});

it("has a device renew its credential, where its agent can", async () => {
  signedIn("fleet.renew_credential");
  let renewed = 0;
  answers("post", "/api/devices/{id}/renew-credential/", () => {
    renewed += 1;
    return DEVICE;
  });
  await show(<DeviceActions device={{ ...DEVICE, capabilities: { renews: true } }} />);
  const button = screen.getByRole("button", { name: "Renew its credential" });
  await waitFor(() => expect(button.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(button);
  const dialog = await screen.findByRole("dialog");
  expect(renewed).toBe(0);
  await userEvent.click([...dialog.querySelectorAll("button")].at(-1) as Element);
  await waitFor(() => expect(renewed).toBe(1));
});

it("says why a device of an old agent cannot renew its credential", async () => {
  signedIn("fleet.renew_credential");
  await show(<DeviceActions device={DEVICE} />);
  const button = screen.getByRole("button", { name: "Renew its credential" });
  await waitFor(() => expect(button.getAttribute("aria-disabled")).toBe("true"));
});
