/** The credential that this device draws to join with, kept by the browser until the device has joined. */
import { sha256Hex } from "../wire/bytes";

const KEY = "joining";

/**
 * The credential for the invitation `token`: the same one each time, so that a platform whose answer was lost recognises
 * the device. Where the browser keeps nothing it is another one each time.
 */
export function drawnCredential(token: string): string {
  const invitation = sha256Hex(new TextEncoder().encode(token));
  const [known, kept] = (localStorage.getItem(KEY) ?? "").split(" ");
  if (known === invitation && kept !== undefined) return kept;
  const drawn = `cod_${urlSafe(crypto.getRandomValues(new Uint8Array(32)))}`;
  localStorage.setItem(KEY, `${invitation} ${drawn}`);
  return drawn;
}

/** The device has joined. */
export function forgetDrawnCredential(): void {
  localStorage.removeItem(KEY);
}

const urlSafe = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
