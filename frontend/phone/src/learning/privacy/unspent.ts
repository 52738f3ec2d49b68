/** What holds where a kind gives no guarantee that is spent. */
export const UNSPENT = { releases: "nothing", noiseMultiplier: null, apart: null, masking: null } as const;
