/** The keys that the platform signs with: pinned when the device joined, and followed since. */
import type { SignedManifest } from "../wire/messages";
import { followed, type PlatformKeys, pinned, trusted } from "../wire/platform_keys";
import type { Identity } from "./kept";
import type { Store } from "./store";

export class Trust {
  constructor(
    private identity: Identity,
    private readonly store: Store,
  ) {}

  get keys(): PlatformKeys {
    return this.identity.platformKeys;
  }

  /** Those that what the device holds may be signed with. */
  pinned(): Uint8Array[] {
    return pinned(this.keys);
  }

  /** Those that what comes now may be signed with. */
  trusted(): Uint8Array[] {
    return trusted(this.keys, Date.now() / 1000);
  }

  /** Before anything of an answer is read, which the last of these keys has signed. */
  async follow(statements: readonly SignedManifest[]): Promise<void> {
    if (statements.length === 0) return;
    try {
      const identity = { ...this.identity, platformKeys: followed(this.keys, statements) };
      await this.store.put("identity", identity);
      this.identity = identity;
    } catch (error) {
      console.error(`the platform names a key that its own did not sign: ${(error as Error).message}`);
    }
  }
}
