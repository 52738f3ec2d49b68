/** What a device downloads, a signed manifest and what it names: a mirror of `coterie_wire.bundle`. */
import { ed25519 } from "@noble/curves/ed25519.js";
import * as v from "valibot";
import { fromBase64, textOf } from "./bytes";
import { CodedError } from "./errors";
import { Count, checked, PROTOCOL, parsed, Sha256, type SignedManifest } from "./messages";

const Dtype = v.picklist(["float32", "int64", "int32", "int8", "uint8", "bool"]);
export type Dtype = v.InferOutput<typeof Dtype>;
const Size = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2 ** 31));
export const Shape = v.pipe(v.array(Size), v.maxLength(16));

export const TensorSpec = v.strictObject({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  dtype: Dtype,
  shape: Shape,
});
export type TensorSpec = v.InferOutput<typeof TensorSpec>;

export const BlobRef = v.strictObject({ sha256: Sha256, size_bytes: Count });
export type BlobRef = v.InferOutput<typeof BlobRef>;

const Axis = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(15));
const LengthBound = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1 << 20));
const Length = v.strictObject({ shortest: LengthBound, longest: LengthBound, axes: v.record(v.string(), Axis) });

export const ModelSpec = v.strictObject({
  inputs: v.array(TensorSpec),
  target: TensorSpec,
  output: TensorSpec,
  task: v.picklist(["classes", "labels", "values", "tokens"]),
  batch_size: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(4096)),
  parameters: v.array(TensorSpec),
  slots: v.array(TensorSpec),
  scalars: v.array(v.string()),
  statistics: v.optional(v.array(v.strictObject({ mean: TensorSpec, variance: TensorSpec })), []),
  frozen: v.optional(v.array(TensorSpec), []),
  seeded: v.optional(v.boolean(), false),
  head: v.optional(
    v.nullable(v.strictObject({ weight: v.string(), bias: v.optional(v.nullable(v.string()), null) })),
    null,
  ),
  padding: v.optional(v.nullable(v.pipe(v.number(), v.integer())), null),
  own_loss: v.optional(v.literal(true)),
  length: v.optional(Length),
});
export type ModelSpec = v.InferOutput<typeof ModelSpec>;

const Manifest = v.strictObject({
  protocol: Count,
  pair: v.string(),
  version: v.string(),
  number: v.pipe(v.number(), v.integer()),
  model: ModelSpec,
  labels: v.array(v.string()),
  train_step: BlobRef,
  predict: BlobRef,
  parameters: BlobRef,
  frozen: v.optional(v.nullable(BlobRef), null),
  server_state: v.optional(BlobRef),
});
export type Manifest = v.InferOutput<typeof Manifest>;

/**
 * The manifest that the platform signed with one of the keys whose public halves (32 bytes) are `platformKeys`.
 * Throws CodedError `bundle.bad_signature`, `bundle.malformed` or `bundle.protocol`.
 */
export const verifyManifest = (signed: SignedManifest, ...platformKeys: Uint8Array[]): Manifest =>
  readSigned(signed, Manifest, ...platformKeys);

/** What the platform signed with one of its keys. Throws as `verifyManifest` does. */
export function readSigned<S extends v.GenericSchema>(
  signed: SignedManifest,
  schema: S,
  ...platformKeys: Uint8Array[]
): v.InferOutput<S> {
  if (!platformKeys.some((key) => isSignedBy(signed, key))) {
    throw new CodedError("bundle.bad_signature", "the manifest was not signed by this platform's key");
  }
  const value = parsed(readable(fromBase64(signed.manifest)), "bundle.malformed");
  const { protocol } = checked(v.object({ protocol: Count }), value, "bundle.malformed", "manifest");
  if (protocol !== PROTOCOL) {
    throw new CodedError("bundle.protocol", `the manifest speaks protocol ${protocol}, this side ${PROTOCOL}`);
  }
  return checked(schema, value, "bundle.malformed", "manifest");
}

/** Whether the key whose public half is `key` has signed it. */
export function isSignedBy(signed: SignedManifest, key: Uint8Array): boolean {
  try {
    // Not ZIP 215: as strict as libsodium, which the agent verifies with.
    return ed25519.verify(fromBase64(signed.signature), fromBase64(signed.manifest), key, { zip215: false });
  } catch {
    return false; // of another length, or no point of the curve
  }
}

function readable(content: Uint8Array): string {
  try {
    return textOf(content);
  } catch {
    throw new CodedError("bundle.malformed", "the manifest is not UTF-8");
  }
}

/** The running statistics, one tensor after the other. */
export const gathered = (model: ModelSpec): TensorSpec[] =>
  model.statistics.flatMap(({ mean, variance }) => [mean, variance]);

/** The tensors of one version: parameters, then statistics. */
export const versionOf = (model: ModelSpec): TensorSpec[] => [...model.parameters, ...gathered(model)];

/** How many classes the model tells apart; 0 where that is not its task. */
export const classesOf = (model: ModelSpec): number => (model.task === "classes" ? (model.output.shape[0] ?? 0) : 0);

/** What a device needs of a version to train and to predict. */
export const partsOf = (manifest: Manifest): BlobRef[] => [
  manifest.train_step,
  manifest.predict,
  manifest.parameters,
  ...(manifest.frozen === null ? [] : [manifest.frozen]),
  ...(manifest.server_state === undefined ? [] : [manifest.server_state]),
];
