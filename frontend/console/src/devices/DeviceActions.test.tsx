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
