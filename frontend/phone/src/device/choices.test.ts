import { expect, test } from "vitest";
import { PRIVACY_DEFAULT } from "./budget";
import { type Changes, changed, type OwnerChoices } from "./choices";
import { QUESTIONS_DEFAULT } from "./fleet_answers";
import { OWNER_DEFAULT } from "./policy";
import { PEERS_DEFAULT } from "./sharing";

const OTHERWISE: Required<OwnerChoices> = {
  policy: OWNER_DEFAULT,
  pausedUntil: 0,
  privacy: PRIVACY_DEFAULT,
  questions: QUESTIONS_DEFAULT,
  asks: { per_day: 3, how: "margin", quiet: [21, 8] },
  peers: PEERS_DEFAULT,
};
const FIRST: OwnerChoices = { policy: OWNER_DEFAULT, pausedUntil: 0 };
const CHOICES: readonly Changes[] = [
  { privacy: { epsilon: 2 } },
  { privacy: { raised: "ask" } },
  { policy: { hours: [22, 7] } },
  { policy: { idle: true } },
  { questions: { minDevices: 50 } },
  { questions: { withoutNoise: true } },
  { asks: { per_day: 0 } },
  { peers: { ask: false } },
  { peers: { tell: "rounded" } },
  { pausedUntil: 5 },
];

test("choices that are made before the page shows the first are all kept, in any order", () => {
  const take = (order: readonly Changes[]) =>
    order.reduce<OwnerChoices>((known, one) => changed(known, one, OTHERWISE), FIRST);
  const made = take(CHOICES);
  expect(made).toEqual(take([...CHOICES].reverse()));
  expect(made).toEqual({
    policy: { ...OWNER_DEFAULT, hours: [22, 7], idle: true },
    pausedUntil: 5,
    privacy: { ...PRIVACY_DEFAULT, epsilon: 2, raised: "ask" },
    questions: { ...QUESTIONS_DEFAULT, minDevices: 50, withoutNoise: true },
    asks: { per_day: 0, how: "margin", quiet: [21, 8] },
    peers: { tell: "rounded", helpOthers: true, ask: false },
  });
});

test("what nobody chose is not written down as chosen", () => {
  expect(changed(FIRST, { pausedUntil: 5 }, OTHERWISE)).toEqual({ ...FIRST, pausedUntil: 5 });
});
