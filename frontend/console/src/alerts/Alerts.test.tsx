import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { Channels } from "./Channels";
import { NoticeLog } from "./NoticeLog";
import type { Channel, Notice, Rule } from "./queries";
import { RuleForm } from "./RuleForm";
import { Rules } from "./Rules";

const CHANNEL: Channel = {
  id: 4,
  name: "on call",
  kind: "webhook",
  recipients: [],
  place: "hooks.example · 3f7a90c2",
  quiet_from: null,
  quiet_until: null,
  time_zone: "UTC",
  held: "",
  is_active: true,
  created_at: "2026-01-01T12:00:00Z",
};
const none = { count: 0, next: null, previous: null, results: [] };

it("makes a channel, shows its secret once and never its URL", async () => {
  signedIn("alerts.create_channel");
  let channels: Channel[] = [];
  answers("get", "/api/alert-channels/", () => ({ ...none, count: channels.length, results: channels }));
  const sent: unknown[] = [];
  answers("post", "/api/alert-channels/", async (request) => {
    sent.push(await request.json());
    channels = [CHANNEL];
    return { ...CHANNEL, secret: "whsec_c2VjcmV0" };
  });
  await show(<Channels search={{}} onSearch={() => undefined} />);
  await userEvent.type(await screen.findByLabelText("Name"), CHANNEL.name);
  await userEvent.click(screen.getByRole("combobox", { name: "Kind" }));
  await userEvent.click(await screen.findByRole("option", { name: "webhook" }));
  await userEvent.type(screen.getByLabelText("URL"), "https://hooks.example/T0P");
  const make = screen.getByRole("button", { name: "Make a channel" });
  await waitFor(() => expect(make.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.type(screen.getByLabelText("Name"), "{Enter}");
  expect(await screen.findByText("whsec_c2VjcmV0")).toBeDefined();
  expect(sent).toMatchObject([
    { name: "on call", kind: "webhook", url: "https://hooks.example/T0P", quiet_from: null, quiet_until: null },
  ]);
  expect(await screen.findByText(CHANNEL.place)).toBeDefined();
  expect(screen.queryByText(/T0P/)).toBeNull();
});

it("makes a rule whose share is a part of one", async () => {
  signedIn("alerts.create_rule");
  answers("get", "/api/alert-channels/", { ...none, count: 1, results: [CHANNEL] });
  answers("get", "/api/alert-rules/", none);
  answers("get", "/api/federations/", none);
  const sent: unknown[] = [];
  answers("post", "/api/alert-rules/", async (request) => {
    sent.push(await request.json());
    return {} as Rule;
  });
  await show(<Rules search={{}} onSearch={() => undefined} />);
  await userEvent.type(await screen.findByLabelText("Name"), "fleet");
  await userEvent.click(screen.getByRole("combobox", { name: "Watch for" }));
  await userEvent.click(await screen.findByRole("option", { name: "too few devices online" }));
  await userEvent.click(screen.getByRole("combobox", { name: "Tell" }));
  await userEvent.click(await screen.findByRole("option", { name: "on call" }));
  const make = screen.getByRole("button", { name: "Make a rule" });
  await waitFor(() => expect(make.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(make);
  await waitFor(() => expect(sent).toMatchObject([{ kind: "online_below", threshold: 0.5, channels: [4] }]));
});

it("says in the log why somebody was not told", async () => {
  signedIn();
  const notice: Notice = {
    id: 1,
    incident: 2,
    channel: 4,
    channel_name: "on call",
    message: "0b6cd6a4-7d5e-4f46-8b53-8a0f4b4d9c55",
    rule_name: "jobs",
    change: "firing",
    severity: "error",
    sentence: "The bootstrap of digits failed.",
    path: "/api/jobs/7/",
    state: "failed",
    attempts: 9,
    problem: "it answered with status 503",
    created_at: "2026-01-01T12:00:00Z",
    sent_at: null,
    resolved_at: null,
  };
  answers("get", "/api/alert-notices/", { ...none, count: 1, results: [notice] });
  await show(<NoticeLog search={{}} onSearch={() => undefined} />);
  const link = await screen.findByRole("link", { name: notice.sentence });
  expect(link.getAttribute("href")).toBe("/jobs?job=7");
  expect(screen.getByText("it answered with status 503")).toBeDefined();
});

it("asks before a rule that was changed is left unsaved, and keeps what was typed", async () => {
  signedIn("alerts.change_rule", "alerts.create_rule");
  answers("get", "/api/alert-channels/", { ...none, count: 1, results: [CHANNEL] });
  answers("get", "/api/federations/", none);
  const rule = { id: 1, name: "x", kind: "unpublished_for", threshold: 24, channels: [4] } as unknown as Rule;
  const closed = vi.fn();
  await show(<RuleForm rule={rule} onDone={closed} />);
  const dialog = await screen.findByRole("dialog");
  const hours = within(dialog).getByLabelText("Longer than");
  await userEvent.type(hours, "0");
  await userEvent.keyboard("{Escape}");
  expect(await screen.findByText("Your changes are not saved")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Stay here" }));
  expect(closed).not.toHaveBeenCalled();
  expect(screen.getByDisplayValue("240 h")).toBeDefined();
  await userEvent.keyboard("{Escape}");
  await userEvent.click(await screen.findByRole("button", { name: "Leave without saving" }));
  expect(closed).toHaveBeenCalledOnce();
});
