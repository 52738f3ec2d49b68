import { useSyncExternalStore } from "react";

/** A value that several components look at; who watches it is told when it becomes another. */
export class Watched<Value> {
  readonly #watchers = new Set<() => void>();
  #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  readonly get = (): Value => this.#value;

  readonly set = (value: Value): void => {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const told of this.#watchers) told();
  };

  /** Call `told` after each change, until what this returns is called. */
  readonly watch = (told: () => void): (() => void) => {
    this.#watchers.add(told);
    return () => {
      this.#watchers.delete(told);
    };
  };
}

/** The value as it is now. */
export function useWatched<Value>(watched: Watched<Value>): Value {
  return useSyncExternalStore(watched.watch, watched.get);
}
