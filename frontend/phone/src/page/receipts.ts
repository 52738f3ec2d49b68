/** What left the device, newest first; messages that one command sends in many pieces are one line. */

import type { Receipt } from "../device/kept";
import { el, list } from "./dom";

/** Kinds of messages that come in runs: an export asks for a page of a section at a time. */
const IN_PIECES: ReadonlySet<string> = new Set(["read-export"]);

export const receiptLines = (receipts: readonly Receipt[]): HTMLElement[] =>
  runsOf(receipts).map((run) => {
    const [newest] = run;
    return run.length === 1 ? line(newest) : detailed(summaryOf(run), list(run.map(line)));
  });

type Run = readonly [Receipt, ...Receipt[]];

/** Those beside each other of one kind that comes in pieces; each of the others by itself. */
export function runsOf(receipts: readonly Receipt[]): Run[] {
  const runs: [Receipt, ...Receipt[]][] = [];
  for (const receipt of receipts) {
    const latest = runs.at(-1);
    if (latest?.[0].what === receipt.what && IN_PIECES.has(receipt.what)) latest.push(receipt);
    else runs.push([receipt]);
  }
  return runs;
}

export function summaryOf(run: Run): string {
  const [{ at, what }] = run;
  const bytes = run.reduce((sum, receipt) => sum + receipt.bytes, 0);
  const messages = run.length === 1 ? "" : `${run.length} messages, `;
  return `${new Date(at).toLocaleString()}: ${what}, ${messages}${bytes.toLocaleString()} bytes`;
}

function line(receipt: Receipt): HTMLElement {
  const { body } = receipt;
  return body === null ? el("span", {}, summaryOf([receipt])) : detailed(summaryOf([receipt]), el("pre", {}, body));
}

const detailed = (summary: string, content: HTMLElement): HTMLElement =>
  el("details", {}, el("summary", {}, summary), content);
