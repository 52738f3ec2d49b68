/** The bytes of everything that travels, which Python writes and both sides read. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const CONTRACT = join(import.meta.dirname, "../../../../tests/contract");

export const goldenBytes = (name: string): Uint8Array => new Uint8Array(readFileSync(join(CONTRACT, "golden", name)));

// biome-ignore lint/suspicious/noExplicitAny: tests read a few fields of documents of many shapes
export const goldenJson = (name: string): any => JSON.parse(readFileSync(join(CONTRACT, "golden", name), "utf8"));

/** What `python -m tests.contract.client_round` wrote. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export const nativeRound = (): any => JSON.parse(readFileSync(join(CONTRACT, "client_round.json"), "utf8"));
