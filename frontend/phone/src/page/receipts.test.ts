import { expect, test } from "vitest";
import type { Receipt } from "../device/kept";
import { runsOf, summaryOf } from "./receipts";

const sent = (what: string, bytes: number): Receipt => ({ at: 0, what, bytes, body: "{}" });

test("an export is one line, with its messages and bytes, and other messages are a line each", () => {
  const check = sent("check-in", 300);
  const runs = runsOf([check, sent("read-export", 20), sent("read-export", 30), check, check, sent("read-export", 1)]);
  expect(runs.map((run) => run.length)).toEqual([1, 2, 1, 1, 1]);
  expect(runs.map(summaryOf).map((line) => line.split(": ").at(-1))).toEqual([
    "check-in, 300 bytes",
    "read-export, 2 messages, 50 bytes",
    "check-in, 300 bytes",
    "check-in, 300 bytes",
    "read-export, 1 bytes",
  ]);
});
