import { expect, test } from "vitest";
import type { Assignment, Directive } from "../wire/messages";
import { StillNamed } from "./still_named";

const assignment = (name: string): Assignment => ({ assignment: name }) as Assignment;
const naming = (ended: Assignment): Directive => ({ assignment: ended }) as Directive;

test("an assignment is given back once three answers in a row have named it, and then counted anew", () => {
  const [ended, other, counted] = [assignment("a"), assignment("b"), new StillNamed()];
  const answer = naming(ended);
  expect([counted.count(answer, ended), counted.count(answer, ended), counted.count(answer, ended)]).toEqual([
    null,
    null,
    null,
  ]);
  expect(counted.count(naming(ended), ended)).toBe(null);
  expect(counted.count(naming(other), other)).toBe(null);
  expect([1, 2, 3].map(() => counted.count(naming(ended), ended))).toEqual([null, null, ended]);
  expect(counted.givenBack().code).toBe("agent.ended_before");
  expect(counted.count(naming(ended), ended)).toBe(null);
});
