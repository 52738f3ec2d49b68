/** The bytes of everything that travels, which Python writes and both sides read. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeState, NO_STATE } from "../learning/device_state";
import type { States } from "../learning/update";
import { fromBase64 } from "../wire/bytes";

const CONTRACT = join(import.meta.dirname, "../../../../tests/contract");

export const goldenBytes = (name: string): Uint8Array => new Uint8Array(readFileSync(join(CONTRACT, "golden", name)));

// biome-ignore lint/suspicious/noExplicitAny: tests read a few fields of documents of many shapes
export const goldenJson = (name: string): any => JSON.parse(readFileSync(join(CONTRACT, "golden", name), "utf8"));

/** Those of a device of which the codec's is `text`, in base64; null: it has none. */
export const statesOf = (text: string | null | undefined): States => ({
  local: NO_STATE,
  codec: text == null ? NO_STATE : decodeState(fromBase64(text)),
});

/** What `python -m tests.contract.client_round` wrote. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export const nativeRound = (): any => JSON.parse(readFileSync(join(CONTRACT, "client_round.json"), "utf8"));

/** What `python -m tests.contract.solved_round` wrote. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export const solvedRound = (): any => JSON.parse(readFileSync(join(CONTRACT, "solved_round.json"), "utf8"));

/** What `python -m tests.contract.int8_form` wrote. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export const int8Form = (): any => JSON.parse(readFileSync(join(CONTRACT, "int8_form.json"), "utf8"));
