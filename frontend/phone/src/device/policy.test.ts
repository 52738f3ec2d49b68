import { expect, test } from "vitest";
import { goldenJson } from "../testing/golden";
import type { ModelSpec } from "../wire/bundle";
import { blocksNetwork, judge, judgeData, judgeSpace } from "./policy";

const MODEL: ModelSpec = goldenJson("manifest.json").model;
const HELD = { samples: 20, features: 128, targets: 0, aside: 0 };

test("reasons and sentences are those of the agent", () => {
  const { judged } = goldenJson("client.json");
  expect(judged.length).toBeGreaterThan(5);
  for (const { plan, owner, conditions, hour, reasons } of judged) {
    expect(judge(plan, owner, conditions, hour)).toEqual(reasons);
  }
});

test("no network, a metered and an unknown one hold back uploads; a battery does not", () => {
  const reason = (code: string) => ({ code, sentence: "" });
  expect(blocksNetwork([reason("conditions.on_battery"), reason("owner.paused")])).toBe(false);
  for (const code of ["conditions.offline", "conditions.metered", "conditions.network_unknown"]) {
    expect(blocksNetwork([reason("data.no_samples"), reason(code)])).toBe(true);
  }
});

test("samples that do not fit the model say what they lack", () => {
  const said = (held: typeof HELD, model: ModelSpec | null = MODEL) =>
    judgeData(held, model).map(({ sentence }) => sentence);
  expect(said(HELD)).toEqual([]);
  expect(said({ ...HELD, features: 3 }, null)).toEqual([]);
  expect(said({ ...HELD, features: 3 })).toEqual(["samples have 3 features, the model takes 128"]);
  expect(said({ ...HELD, aside: 19 })).toEqual([]);
  expect(said({ ...HELD, aside: 20 })).toEqual(["no label is one of the model's classes, which end at 2"]);
  expect(said({ ...HELD, targets: 2 })).toEqual(["samples have targets of 2 numbers, the model learns classes"]);
  expect(judgeData({ ...HELD, samples: 0 }, MODEL)[0]?.code).toBe("data.no_samples");
});

test("a full disk is a reason, and one that the browser does not tell of is none", () => {
  expect(judgeSpace(1 << 20)[0]?.code).toBe("store.full");
  expect([...judgeSpace(1 << 30), ...judgeSpace(null)]).toEqual([]);
});
