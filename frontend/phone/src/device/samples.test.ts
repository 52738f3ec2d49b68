import { expect, test } from "vitest";
import { CodedError } from "../wire/errors";
import { readSamples } from "./samples";

const read = (name: string, text: string, features: number | null = null, classes = 0) =>
  readSamples(name, new Blob([text]), { features, classes });
const fault = async (name: string, text: string, features: number | null = null, classes = 0): Promise<string> => {
  try {
    await read(name, text, features, classes);
  } catch (error) {
    return error instanceof CodedError ? `${error.code}: ${error.message}` : `${error}`;
  }
  return "no fault";
};

test("a label that the model does not know is refused with its line", async () => {
  expect(await fault("a.csv", "label,x\n9,1\n10,1\n", 1, 10)).toBe(
    "ingest.bad_label: a.csv, line 3: the label is 10, expected a whole number, 0 to 9",
  );
});

test("CSV with labels or targets in any column", async () => {
  const { labelled } = await read("a.csv", "\uFEFFx,label,y\r\n0.5,2,1\r\n\r\n-1,0,3e1\r\n");
  expect(labelled.map(({ x, label }) => [[...x], label])).toEqual([
    [[0.5, 1], 2],
    [[-1, 30], 0],
  ]);
  const [aimed] = (await read("a.csv", "x,target_a,target_b\n1,2,3")).labelled;
  expect([[...(aimed?.x ?? [])], aimed?.label, [...(aimed?.target ?? [])]]).toEqual([[1], -1, [2, 3]]);
});

test("JSON lines", async () => {
  const { labelled: rows } = await read("a.jsonl", '{"x":[1,2],"y":3}\n\n{"x":[3,4],"y":0}\n', 2);
  expect(rows.map(({ x, label }) => [[...x], label])).toEqual([
    [[1, 2], 3],
    [[3, 4], 0],
  ]);
});

test("samples without a label are kept apart", async () => {
  for (const [name, text] of [
    ["a.csv", "x,label,y\n1,2,3\n4,,5\n"],
    ["a.jsonl", '{"x":[1,3],"y":2}\n{"x":[4,5]}\n'],
  ] as const) {
    const { labelled, unlabelled } = await read(name, text);
    expect(labelled.map(({ label }) => label)).toEqual([2]);
    expect(unlabelled.map((x) => [...x])).toEqual([[4, 5]]);
  }
});

test.each([
  ["a.txt", "", null, "ingest.unknown_format"],
  ["a.csv", "x,y\n1,2", null, "ingest.no_label"],
  ["a.csv", "x,label\n1,2,3", null, "ingest.wrong_width: a.csv, line 2"],
  ["a.csv", "x,label\n1,2\n,2", null, "ingest.not_a_number: a.csv, line 3"],
  ["a.csv", "x,label\n1,2.5", null, "ingest.bad_label"],
  ["a.csv", "x,label\n1,-1", null, "ingest.bad_label"],
  ["a.csv", "x,label\n1e39,1", null, "ingest.not_a_number"],
  ["a.csv", "x,label\n1,2", 3, "ingest.wrong_width: a.csv, line 2: 1 features, expected 3"],
  ["a.jsonl", '{"x":[]}', null, "ingest.malformed: a.jsonl, line 1"],
  ["a.jsonl", '{"x":[1]}', 2, "ingest.wrong_width: a.jsonl, line 1"],
  ["a.jsonl", "{", null, "ingest.malformed: a.jsonl, line 1"],
])("%s with %j is refused as a whole", async (name, text, features, expected) => {
  expect(await fault(name, text, features)).toContain(expected);
});
