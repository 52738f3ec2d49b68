import { expect, test } from "vitest";
import type { Conditions, Directive, Reason } from "../wire/messages";
import { Situation } from "./situation";

const CONDITIONS: Conditions = { charging: "yes", network: "wifi", idle: "yes", temperature_c: null };
const because = (code: string): Reason => ({ code, sentence: "" });
const [NO_SAMPLES, ON_BATTERY] = [because("data.no_samples"), because("conditions.on_battery")];

test.each([
  [NO_SAMPLES, null],
  [ON_BATTERY, ON_BATTERY],
  [because("rounds.delivered"), because("rounds.delivered")],
])("what the platform repeats of a blocker passes with it: %o", (wait, left) => {
  const situation = new Situation();
  situation.judged(CONDITIONS, [NO_SAMPLES, ON_BATTERY]);
  situation.direct({ assignment: null, wait } as Directive);
  situation.judged(CONDITIONS, [ON_BATTERY]);
  expect(situation.now.directive?.wait).toEqual(left);
});
