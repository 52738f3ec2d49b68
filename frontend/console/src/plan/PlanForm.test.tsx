import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, it, vi } from "vitest";
import { show } from "../testing/show";
import { PlanForm } from "./PlanForm";
import type { Schema, Values } from "./schema";

type Plan = Readonly<Record<string, Values>>;

function kind(name: string, properties: Schema["properties"] = {}): Schema {
  return { type: "object", description: `All about ${name}.`, properties: { kind: { enum: [name] }, ...properties } };
}

const SCHEMA = {
  local: { sgd: kind("sgd"), prox: kind("prox", { mu: { type: "number", minimum: 0, default: 0.1 } }) },
  pace: {
    sync: kind("sync", {
      min_updates: { type: "integer", minimum: 1, default: 5 },
      deadline_s: {
        type: "number",
        minimum: 60,
        maximum: 2_592_000,
        default: 600,
        description: "seconds from opening to closing at the latest",
      },
    }),
  },
  requirements: { type: "object", properties: { charging: { type: "boolean", default: true } } },
} as never;
const PLAN: Plan = {
  local: { kind: "sgd" },
  pace: { kind: "sync", min_updates: 5, deadline_s: 600 },
  requirements: { charging: true },
};

function Form({ seen }: { seen: (plan: Plan) => void }) {
  const [plan, setPlan] = useState(PLAN);
  return (
    <PlanForm
      schema={SCHEMA}
      plan={plan}
      onChange={(next) => {
        seen(next);
        setPlan(next);
      }}
    />
  );
}

// The whole form is drawn, which takes a busy machine seconds.
vi.setConfig({ testTimeout: 20_000 });

it("starts another kind of a slot with its defaults, and leaves the others alone", async () => {
  const seen = vi.fn();
  await show(<Form seen={seen} />);
  await userEvent.click(screen.getByRole("button", { name: /How does a device learn/ }));
  await userEvent.click((await screen.findAllByRole("combobox", { name: "Kind" }))[0] as Element);
  await userEvent.click(await screen.findByRole("option", { name: /FedProx/ }));
  expect(seen).toHaveBeenLastCalledWith({ ...PLAN, local: { kind: "prox", mu: 0.1 } });
  expect(screen.getByText("All about prox.")).toBeDefined();
});

it("takes a duration as people write it", async () => {
  const seen = vi.fn();
  await show(<Form seen={seen} />);
  await userEvent.click(screen.getByRole("button", { name: /when are updates merged/ }));
  const field = await screen.findByLabelText("deadline");
  expect(field).toHaveProperty("value", "10 min");
  expect(screen.getByText("time from opening to closing at the latest")).toBeDefined();
  const typed = async (text: string) => {
    await userEvent.clear(field);
    await userEvent.type(field, text);
  };
  await typed("1 h 30 min");
  expect(seen).toHaveBeenLastCalledWith({ ...PLAN, pace: { ...PLAN.pace, deadline_s: 5400 } });
  await userEvent.tab();
  expect(field).toHaveProperty("value", "1 h 30 min");
  await typed("5 s");
  expect(await screen.findByText("at least 1 min")).toBeDefined();
  await typed("40 d");
  expect(await screen.findByText("at most 30 days")).toBeDefined();
  await typed("soon");
  expect(await screen.findByText("needs a duration, such as 24 h")).toBeDefined();
  expect(seen).toHaveBeenLastCalledWith({ ...PLAN, pace: { ...PLAN.pace, deadline_s: "soon" } });
});

it("takes a value while one types, and says at once where it does not fit", async () => {
  const seen = vi.fn();
  await show(<Form seen={seen} />);
  await userEvent.click(screen.getByRole("button", { name: /when are updates merged/ }));
  const field = await screen.findByLabelText("min updates");
  await userEvent.clear(field);
  await userEvent.type(field, "0");
  expect(await screen.findByText("at least 1")).toBeDefined();
  await userEvent.clear(field);
  await userEvent.type(field, "7");
  expect(screen.queryByText("at least 1")).toBeNull();
  expect(seen).toHaveBeenLastCalledWith({ ...PLAN, pace: { ...PLAN.pace, min_updates: 7 } });
});

it("changes nothing when a field is left that says what it said", async () => {
  const seen = vi.fn();
  await show(<Form seen={seen} />);
  await userEvent.click(screen.getByRole("button", { name: /when are updates merged/ }));
  const field = await screen.findByLabelText("min updates");
  await userEvent.clear(field);
  await userEvent.type(field, "3");
  const changes = seen.mock.calls.length;
  await userEvent.tab();
  expect(seen.mock.calls.length).toBe(changes);
});

it("takes a share as it is typed, digit by digit", async () => {
  const seen = vi.fn();
  await show(<Form seen={seen} />);
  await userEvent.click(screen.getByRole("button", { name: /How does a device learn/ }));
  await userEvent.click((await screen.findAllByRole("combobox", { name: "Kind" }))[0] as Element);
  await userEvent.click(await screen.findByRole("option", { name: /FedProx/ }));
  const field = await screen.findByLabelText("mu");
  await userEvent.clear(field);
  await userEvent.type(field, "0.05");
  expect((field as HTMLInputElement).value).toBe("0.05");
  expect(seen).toHaveBeenLastCalledWith({ ...PLAN, local: { kind: "prox", mu: 0.05 } });
  await userEvent.clear(field);
  await userEvent.type(field, "0");
  expect(seen).toHaveBeenLastCalledWith({ ...PLAN, local: { kind: "prox", mu: 0 } });
});

it("asks what must hold on a device", async () => {
  const seen = vi.fn();
  await show(<Form seen={seen} />);
  await userEvent.click(screen.getByRole("button", { name: /What must hold on a device/ }));
  await userEvent.click(await screen.findByRole("switch", { name: "charging" }));
  expect(seen).toHaveBeenLastCalledWith({ ...PLAN, requirements: { charging: false } });
});
