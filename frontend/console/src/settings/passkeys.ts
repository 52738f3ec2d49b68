import { NotDone } from "../api/problem";
import { t } from "../language/t";

/** What the platform gives a browser, or the browser it: W3C Web Authentication as JSON. */
type Json = Record<string, unknown>;

/** Have the browser make a passkey. Throws `NotDone`. */
export function makePasskey(options: Json): Promise<Json> {
  return answered(() => {
    const given = options as unknown as PublicKeyCredentialCreationOptionsJSON;
    return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(given) });
  });
}

/** Have one of the person's passkeys sign. Throws `NotDone`. */
export function signByPasskey(options: Json): Promise<Json> {
  return answered(() => {
    const given = options as unknown as PublicKeyCredentialRequestOptionsJSON;
    return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(given) });
  });
}

async function answered(ask: () => Promise<Credential | null>): Promise<Json> {
  if (window.PublicKeyCredential?.parseRequestOptionsFromJSON === undefined) {
    throw new NotDone(t`This browser is too old for passkeys, or the page came without TLS.`);
  }
  try {
    return ((await ask()) as PublicKeyCredential).toJSON() as Json;
  } catch (error) {
    throw new NotDone(whyNot(error));
  }
}

function whyNot(error: unknown): string {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "InvalidStateError") return t`This device has a passkey of yours already.`;
  if (name === "NotAllowedError" || name === "AbortError") return t`No passkey was used.`;
  return error instanceof Error ? error.message : String(error);
}
