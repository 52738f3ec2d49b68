import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { DeviceLogs } from "./DeviceLogs";
import type { DeviceLog } from "./logs";
import type { Device } from "./queries";

const DEVICE = { id: "7f0d1c5e-0000-4000-8000-000000000001", name: "kitchen-1" } as unknown as Device;
const LOG: DeviceLog = {
  id: "7f0d1c5e-0000-4000-8000-000000000002",
  device: DEVICE.id,
  device_name: "kitchen-1",
  hours: 24,
  why: "it never trains",
  state: "delivered",
  reason_code: "device_logs.delivered",
  reason_sentence: "1 lines came",
  created_at: "2026-01-01T12:00:00Z",
  due_at: "2026-01-08T12:00:00Z",
  allowed_at: "2026-01-01T12:01:00Z",
  ended_at: "2026-01-01T12:01:01Z",
  line_count: 1,
  left_out: 3,
  size_bytes: 90,
  keep_until: "2026-01-31T12:00:00Z",
};

const page = <Row,>(results: Row[]) => ({ count: results.length, next: null, previous: null, results });

beforeEach(() => {
  signedIn("device_logs.ask_for_log", "device_logs.cancel_log");
  answers("get", "/api/devices/{id}/sends-log/", { reason_code: "", reason_sentence: "" });
});

it("asks for the hours that were chosen, with what it is wanted for", async () => {
  const user = userEvent.setup();
  const asked = vi.fn();
  answers("get", "/api/device-logs/", page<DeviceLog>([]));
  answers("post", "/api/device-logs/", async (request) => {
    asked(await request.json());
    return { ...LOG, state: "asked" as const };
  });
  await show(<DeviceLogs device={DEVICE} shown={undefined} onShow={() => undefined} />);
  await user.click(await screen.findByRole("button", { name: "Ask for its log" }));
  await user.type(await screen.findByRole("textbox", { name: /What for/ }), "it never trains");
  await user.click(screen.getByRole("button", { name: "Ask for it" }));
  await waitFor(() => expect(asked).toHaveBeenCalledWith({ device: DEVICE.id, hours: 24, why: "it never trains" }));
});

it("says of a device that cannot send it why, and does not ask", async () => {
  const sentence = "the page that a phone trains with keeps no log";
  answers("get", "/api/devices/{id}/sends-log/", { reason_code: "logs.none_kept", reason_sentence: sentence });
  answers("get", "/api/device-logs/", page<DeviceLog>([]));
  await show(<DeviceLogs device={DEVICE} shown={undefined} onShow={() => undefined} />);
  expect(await screen.findByText(`It sends none: ${sentence}.`)).toBeDefined();
  expect(screen.getByRole("button", { name: "Ask for its log" }).getAttribute("aria-disabled")).toBe("true");
});

it("takes an open request back instead of making another", async () => {
  answers("get", "/api/device-logs/", page([{ ...LOG, state: "asked" } as DeviceLog]));
  await show(<DeviceLogs device={DEVICE} shown={undefined} onShow={() => undefined} />);
  expect(await screen.findByRole("button", { name: "Ask no longer" })).toBeDefined();
  expect(screen.queryByRole("button", { name: "Ask for its log" })).toBeNull();
  expect(screen.queryByRole("button", { name: "the last 24 hours" })).toBeNull();
});

it("shows the lines that came, and how many did not", async () => {
  const onShow = vi.fn();
  answers("get", "/api/device-logs/", page([LOG]));
  const line = { id: 1, at: "2026-01-01T11:00:00Z", level: "error", source: "worker", text: "disk full" } as const;
  answers("get", "/api/device-logs/{log}/lines/", page([line]));
  await show(<DeviceLogs device={DEVICE} shown={LOG.id} onShow={onShow} />);
  expect(await screen.findByText("disk full")).toBeDefined();
  expect(screen.getByText("These are the newest 1; 3 older lines are more than a delivery holds.")).toBeDefined();
  expect(screen.getByText("Wanted for: it never trains")).toBeDefined();
});
