import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import names from "./languages.json" with { type: "json" };
import { type Message, messagesOf, misfit, translated } from "./messages.ts";

export type Language = Exclude<keyof typeof names, "en">;
/** What the console is built in beside English, in which it is written. */
export const LANGUAGES = Object.keys(names).filter((code): code is Language => code !== "en");

/** Where the console's sources are. */
export const SOURCES = join(import.meta.dirname, "../src");
/** What no page shows. */
const NOT_SHOWN = /\.test\.tsx?$|\.d\.ts$|routeTree\.gen\.ts$|api\/schema\.ts$|\/testing\//;

/** What each English message of one directory is in another language; `""`: not translated yet. */
type Catalogue = Readonly<Record<string, string>>;

function catalogueAt(directory: string, language: Language): string {
  return join(directory, `${language}.json`);
}

function readCatalogue(directory: string, language: Language): Catalogue {
  const path = catalogueAt(directory, language);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
}

/** Whether a file may say something to people. */
export function isShown(path: string): boolean {
  return /\.tsx?$/.test(path) && !NOT_SHOWN.test(path);
}

/** A file's source in a language. Raises an Error that says where a message has no translation, or one that does not fit. */
export function inLanguage(path: string, source: string, language: Language): string {
  const catalogue = readCatalogue(dirname(path), language);
  return translated(path, source, (message) => {
    const fault = faultOf(message, catalogue);
    if (fault !== undefined) throw new Error(placed(path, message, language, fault));
    return catalogue[message.words] ?? "";
  });
}

function faultOf({ words }: Message, catalogue: Catalogue): string | undefined {
  const translation = catalogue[words];
  return translation ? misfit(words, translation) : "has no translation";
}

function placed(path: string, { words, line }: Message, language: Language, fault: string): string {
  return `${relative(SOURCES, path)}:${line}: “${words}” ${fault} (${language})`;
}

/** The files of each directory of the console that say something to people. */
function filesByDirectory(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const entry of readdirSync(SOURCES, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && isShown(path)) found.set(entry.parentPath, [...(found.get(entry.parentPath) ?? []), path]);
  }
  return found;
}

/** What a directory's catalogue should have: all that is said there, in order of the alphabet; `""` where it is missing. */
function wanted(files: readonly string[], known: Catalogue): Catalogue {
  const words = new Set(files.flatMap((path) => messagesIn(path).map((message) => message.words)));
  return Object.fromEntries([...words].sort().map((one) => [one, known[one] ?? ""]));
}

/** Brings the catalogues up to date: new messages with an empty translation; what nothing says any more goes. */
export function writeCatalogues(language: Language): void {
  for (const [directory, files] of filesByDirectory()) {
    const catalogue = wanted(files, readCatalogue(directory, language));
    const path = catalogueAt(directory, language);
    if (Object.keys(catalogue).length > 0) writeFileSync(path, `${JSON.stringify(catalogue, null, 2)}\n`);
    else rmSync(path, { force: true });
  }
}

/** What is wrong with the catalogues of a language, as sentences. */
export function faults(language: Language): readonly string[] {
  return [...filesByDirectory()].flatMap(([directory, files]) => {
    const catalogue = readCatalogue(directory, language);
    const said = wanted(files, catalogue);
    const place = relative(SOURCES, catalogueAt(directory, language));
    return [
      ...files.flatMap((path) =>
        messagesIn(path).flatMap((message) => {
          const fault = faultOf(message, catalogue);
          return fault === undefined ? [] : [placed(path, message, language, fault)];
        }),
      ),
      ...Object.keys(catalogue)
        .filter((words) => !(words in said))
        .map((words) => `${place}: nothing says “${words}”`),
    ];
  });
}

function messagesIn(path: string): readonly Message[] {
  return messagesOf(path, readFileSync(path, "utf8"));
}
