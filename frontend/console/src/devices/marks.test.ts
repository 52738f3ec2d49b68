import { expect, it } from "vitest";
import type { HelpRequest } from "../help/queries";
import type { Part } from "../parts/queries";
import { marksOf } from "./marks";

const at = (seconds: number) => new Date(seconds * 1000).toISOString();
const part = (base_version: string, offered: number) => ({ base_version, offered_at: at(offered) }) as Part;

it("marks drift, what became of help, and versions where they change", () => {
  const requests = [
    { asked_at: at(25), transfers: [{ state: "expired" }, { state: "kept", ended_at: at(27) }] },
    { asked_at: at(5), transfers: [] },
  ] as unknown as HelpRequest[];
  const marks = marksOf([part("b", 30), part("b", 20), part("a", 10), part("c", 40)], requests, new Map([["b", 7]]));
  expect(marks).toEqual([
    { at: 5, label: "drift" },
    { at: 20, label: "version 7" },
    { at: 25, label: "drift" },
    { at: 27, label: "helped" },
    { at: 40, label: "new version" },
  ]);
});
