import { expect, test } from "vitest";
import { CodedError } from "../wire/errors";
import { delayS, isRetryable, LOG_DAMAGED, nextCheckInS, Refused, Unreachable } from "./failure";

const draws = <T>(draw: () => T): T[] => Array.from({ length: 200 }, draw);

test("an idle phone of a small fleet comes within its interval", () => {
  for (const s of draws(() => nextCheckInS({ check_in_s: 15, window: null }))) {
    expect(s).toBeGreaterThanOrEqual(12);
    expect(s).toBeLessThanOrEqual(15);
  }
});

test("a phone of a large fleet comes at a moment of its window", () => {
  const drawn = draws(() => nextCheckInS({ check_in_s: 15, window: { after_s: 100, within_s: 200 } }));
  expect(Math.min(...drawn)).toBeGreaterThanOrEqual(100);
  expect(Math.max(...drawn)).toBeLessThanOrEqual(300);
  expect(Math.max(...drawn) - Math.min(...drawn)).toBeGreaterThan(100);
});

test("after a failure it waits as after an answer, and in a small fleet half a second at most", () => {
  expect(Math.max(...draws(() => delayS(1, 3600)))).toBeLessThanOrEqual(0.5);
  const drawn = draws(() => delayS(1, 3600, true));
  expect(Math.min(...drawn)).toBeGreaterThanOrEqual(1800);
  expect(Math.max(...drawn)).toBeGreaterThan(3600);
});

test("what may succeed when it is tried again is tried again", () => {
  const refused = (status: number) => new Refused({ code: "rounds.closed", detail: "", status } as never);
  const again = [new Unreachable(""), refused(503), new CodedError(LOG_DAMAGED, "the log is read again")];
  expect(again.map(isRetryable)).toEqual([true, true, true]);
  const never = [refused(409), new CodedError("agent.sum_damaged", ""), new Error("")];
  expect(never.map(isRetryable)).toEqual([false, false, false]);
});
