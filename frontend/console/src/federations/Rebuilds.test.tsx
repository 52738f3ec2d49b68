import { screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import type { Rebuild } from "./queries";
import { Rebuilds } from "./Rebuilds";

const REBUILDS = "/api/rebuilds/";
const RUNNING: Rebuild = {
  id: "r",
  federation: "f",
  federation_slug: "digits",
  state: "repeating",
  reason_code: "owners.repeating",
  sentence: "2 of 4 merges are repeated without the device",
  base: "v2",
  base_number: 2,
  result_version: null,
  result_number: null,
  repeated: 2,
  to_repeat: 4,
  restart_code: "",
  restart_sentence: "",
  retired: 0,
  retired_bytes: 0,
  elsewhere: 0,
  asked_at: "2026-11-27T08:00:00Z",
  finished_at: null,
};

beforeEach(() => signedIn());

it("tells how far a rebuild is", async () => {
  answers("get", REBUILDS, { count: 1, next: null, previous: null, results: [RUNNING] });
  await show(<Rebuilds federation="f" />);
  expect(await screen.findByText("2 of 4 merges are repeated without the device")).toBeDefined();
  expect(screen.getByText("2 of 4")).toBeDefined();
});

it("shows nothing where nothing was rebuilt", async () => {
  answers("get", REBUILDS, { count: 0, next: null, previous: null, results: [] });
  await show(<Rebuilds federation="f" />);
  expect(screen.queryByText("Rebuilt without forgotten devices")).toBeNull();
});
