/** Smaller forms of a version, which a device may predict with instead: a mirror of `coterie_wire.variants`. */
import * as v from "valibot";
import { BlobRef, readSigned } from "./bundle";
import { fromBase64, sha256Hex } from "./bytes";
import { Count, type SignedManifest } from "./messages";

const Variant = v.strictObject({ name: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]{0,39}$/)), graph: BlobRef });

/** Those of one version, the most accurate first; each graph holds its parameters. */
const Variants = v.strictObject({
  protocol: Count,
  version: v.string(),
  variants: v.pipe(v.array(Variant), v.maxLength(8)),
});
export type Variants = v.InferOutput<typeof Variants>;

/** The list that the platform signed. Throws CodedError `bundle.bad_signature`, `bundle.malformed` or `bundle.protocol`. */
export const verifyVariants = (signed: SignedManifest, ...platformKeys: Uint8Array[]): Variants =>
  readSigned(signed, Variants, ...platformKeys);

/** By which a device says that it knows the list. */
export const digestOf = ({ manifest }: SignedManifest): string => sha256Hex(fromBase64(manifest));
