import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show } from "../testing/show";
import { JobLog } from "./JobLog";
import type { Job } from "./queries";

const JOB = {
  id: "7f0d1c5e-0000-4000-8000-000000000001",
  kind: "bootstrap",
  pair_slug: "digits",
  pair_name: "Digits",
  state: "failed",
  created_at: "2026-01-01T00:00:00Z",
  finished_at: "2026-01-01T00:05:00Z",
  error_code: "child.out_of_memory",
  error_sentence: "it took too much",
} as Job;

it("tells every line of a log that is longer than a page, and how the job ended", async () => {
  answers("get", "/api/jobs/{id}/", JOB);
  answers("get", "/api/jobs/{id}/log/", (request) => {
    const page = new URL(request.url).searchParams.get("page");
    const line = { id: Number(page), at: "2026-01-01T00:01:00Z", text: `line ${page}` };
    return { count: 2, next: page === "1" ? "http://platform/?page=2" : null, previous: null, results: [line] };
  });
  await show(<JobLog id={JOB.id} onClose={() => undefined} />);
  const log = await screen.findByRole("list", { name: "Log" });
  expect(
    within(log)
      .getAllByRole("listitem")
      .map((line) => line.textContent?.slice(-6)),
  ).toEqual(["line 1", "line 2"]);
  expect(screen.getByText(/it took too much/)).toBeDefined();
  expect(screen.getByText("Bootstrap of Digits")).toBeDefined();
});
