/** What the browser lets this site still store, in bytes; null where it does not tell. */
export async function freeBytes(): Promise<number | null> {
  const estimate = await navigator.storage?.estimate?.();
  return estimate?.quota === undefined ? null : estimate.quota - (estimate.usage ?? 0);
}
