import { useSyncExternalStore } from "react";

const EVERY_MS = 10_000;

const heard = new Set<() => void>();
let ticks = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  ticks += 1;
  for (const hear of heard) hear();
}

function subscribe(hear: () => void): () => void {
  heard.add(hear);
  timer ??= setInterval(tick, EVERY_MS);
  return () => {
    heard.delete(hear);
    if (heard.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Draws the component again every ten seconds, with all others that show what time alone changes. */
export function useTick(): void {
  useSyncExternalStore(subscribe, () => ticks);
}
