import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as React from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ts from "typescript";
import { expect, it } from "vitest";
import { t } from "../src/language/t";
import { messagesOf, misfit, translated } from "./messages.ts";

const PATH = join(import.meta.dirname, "testing/page.tsx");
const SOURCE = readFileSync(PATH, "utf8");
const SENTENCE = "Of {length} devices <0>half</0>, and {length2} are <1/>.";

/** The page of a source, as a browser gets it. */
function shown(source: string, late?: string): string {
  const options = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2023, jsx: ts.JsxEmit.React };
  const program = ts.transpileModule(source, { fileName: PATH, compilerOptions: options }).outputText;
  const exports: { Page?: React.ComponentType<object> } = {};
  new Function("exports", "require", "React", program)(exports, () => ({ t }), React);
  const props = { rows: [3, 4], kind: "a type", ...(late !== undefined && { late }) };
  return renderToStaticMarkup(React.createElement(exports.Page ?? "p", props));
}

function inOther(catalogue: Readonly<Record<string, string>>): string {
  return translated(PATH, SOURCE, ({ words }) => catalogue[words] ?? words);
}

it("finds what people read, whole sentences with their line, and leaves what programs read", () => {
  const messages = messagesOf(PATH, SOURCE);
  expect(messages.map(({ words }) => words)).toEqual([
    "Close",
    "Devices",
    "Updates",
    "one device waits",
    "{many} devices wait",
    "Rounds",
    "Since {value}",
    "it is open",
    "on time",
    "`late`",
    SENTENCE,
  ]);
  expect(SOURCE.split("\n")[(messages.at(-1)?.line ?? 0) - 1]).toContain("<p>");
});

it("leaves a page as it is where each translation is the English", () => {
  expect(inOther({})).not.toBe(SOURCE);
  expect(shown(inOther({}))).toBe(shown(SOURCE));
  expect(shown(inOther({}), "3 s")).toBe(shown(SOURCE, "3 s"));
});

it("puts the parts of a sentence in the order of the other language", () => {
  const german = inOther({
    [SENTENCE]: "<1/> {length2}: <0>die Hälfte</0> von {length} „Geräten“, $" + "{length} < \\2",
    "{many} devices wait": "es warten {many} Geräte",
    "on time": '"pünktlich" `x`',
    Rounds: "Runden",
  });
  expect(shown(german)).toBe(
    '<section title="Runden" lang="not shown" aria-label="Since 3">it is open' +
      '<p><i title="&quot;pünktlich&quot; `x`"></i> es warten 2 Geräte: <b id="not shown">die Hälfte</b> von 2 ' +
      "„Geräten“, $2 &lt; \\2</p><i>3</i><i>4</i></section>",
  );
});

it.each([
  ["drops a value", SENTENCE, "Von <0>allen</0> {length}: <1/>"],
  ["drops an element", SENTENCE, "Von {length} und {length2}: <0>alle</0>"],
  ["opens an element that it does not close", SENTENCE, "Von {length} und {length2}: <0>alle <1/>"],
  ["names a value that is none", "{many} devices wait", "{viele} Geräte warten"],
])("says that a translation %s", (_what, words, translation) => {
  expect(misfit(words, translation)).toContain("has the parts “");
});

it("lets a translation say a part twice, and in another place", () => {
  expect(misfit("{a} of {b}", "von {b} {a}, also {a}")).toBeUndefined();
});

it("refuses words with a part that the message has not", () => {
  expect(() => inOther({ "one device waits": "{many} devices wait" })).toThrow("“many” is a part of no message here");
});
