import { expect, it } from "vitest";
import { helpGraphOf } from "./helpGraph";
import type { Transfer } from "./queries";

function transfer(helper: string, target: string, state: Transfer["state"]): Transfer {
  return { helper, helper_name: helper, target, target_name: target, state } as Transfer;
}

it("draws the pairs with most transfers, and says how many it leaves out", () => {
  const { members, bonds, more } = helpGraphOf(
    [transfer("a", "b", "kept"), transfer("c", "d", "kept"), transfer("c", "d", "undone")],
    1,
  );
  expect(members.map(({ name }) => name)).toEqual(["c", "d"]);
  expect([bonds.length, more]).toEqual([1, 1]);
});

it("has each device once, and counts how the transfers of each pair ended", () => {
  const { members, bonds } = helpGraphOf([
    transfer("a", "b", "kept"),
    transfer("a", "b", "undone"),
    transfer("c", "b", "kept"),
    transfer("b", "a", "matched"),
  ]);
  expect(members.map(({ name }) => name)).toEqual(["a", "b", "c"]);
  expect(bonds).toEqual([
    { helper: "a", target: "b", kept: 1, undone: 1, open: 0 },
    { helper: "c", target: "b", kept: 1, undone: 0, open: 0 },
    { helper: "b", target: "a", kept: 0, undone: 0, open: 1 },
  ]);
});
