import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, it, vi } from "vitest";
import { answers } from "../testing/mock";
import { show } from "../testing/show";
import { CompareFederations } from "./CompareFederations";
import { CompareRounds } from "./CompareRounds";
import type { Federation, Round } from "./queries";

// Lists that open take a busy machine seconds.
vi.setConfig({ testTimeout: 20_000 });

const listed = (results: readonly object[]) =>
  ({ count: results.length, next: null, previous: null, results }) as never;
const federation = (id: string, name: string) => ({ id, name, members: 4 }) as Federation;
const round = (id: number, accuracy: number): Round =>
  ({
    id,
    number: id,
    federation: "a",
    state: "published",
    devices: 4,
    updates: 4,
    duration_s: 60,
    finished_at: null,
    metrics: { accuracy },
  }) as never;
const DIGITS = federation("a", "Digits");

function Choosing() {
  const [against, choose] = useState<readonly string[]>([]);
  return <CompareFederations baseline={DIGITS} against={against} onAgainst={choose} />;
}

it("shows others beside a federation, which is their baseline", async () => {
  answers("get", "/api/federations/", listed([DIGITS, federation("b", "Words"), federation("c", "Plants")]));
  answers("get", "/api/rounds/", (request) =>
    listed([round(1, new URL(request.url).searchParams.get("federation") === "a" ? 0.9 : 0.8)]),
  );
  await show(<Choosing />);
  await userEvent.click(screen.getByRole("combobox", { name: "Compared with it" }));
  await userEvent.click(await screen.findByRole("option", { name: "Words" }));
  await userEvent.click(await screen.findByRole("option", { name: "Plants" }));
  expect(await screen.findByRole("columnheader", { name: "Digits, the baseline" })).toBeDefined();
  expect(screen.getByRole("columnheader", { name: "Plants" })).toBeDefined();
  await waitFor(() =>
    expect(screen.getByRole("row", { name: /accuracy of the newest version 90.0% 80.0%.*−10.0%/ })).toBeDefined(),
  );
});

it("shows several rounds beside one", async () => {
  answers("get", "/api/rounds/", listed([round(9, 0.9), round(8, 0.85), round(7, 0.7)]));
  answers(
    "get",
    "/api/rounds/{id}/",
    (request) => (request.url.endsWith("/8/") ? round(8, 0.85) : round(7, 0.7)) as never,
  );
  await show(<CompareRounds baseline={round(9, 0.9)} against={[8, 7]} onAgainst={() => undefined} />);
  const row = await screen.findByRole("row", { name: /accuracy on held-out samples 90.0% 85.0%.*−5.0% 70.0%.*−20.0%/ });
  expect(row).toBeDefined();
});
