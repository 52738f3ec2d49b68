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
} as unknown as Device;

it("tags a device", async () => {
  signedIn("fleet.change_device");
  const sent: unknown[] = [];
  answers("patch", "/api/devices/{id}/", async (request) => {
    sent.push(await request.json());
    return DEVICE;
  });
  await show(<DeviceActions device={DEVICE} />);
  const tag = screen.getByRole("button", { name: "Tag" });
  await waitFor(() => expect(tag.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(tag);
  const dialog = await screen.findByRole("dialog");
  await userEvent.type(dialog.querySelector("input") as Element, "lobby");
  await userEvent.click([...dialog.querySelectorAll("button")].at(-1) as Element);
  await waitFor(() => expect(sent).toEqual([{ tags: ["kiosk", "lobby"] }]));
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
