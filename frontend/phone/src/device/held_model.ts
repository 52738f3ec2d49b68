/** The version that the device holds, its smaller forms, and what they answer. A mirror of `coterie_agent.model`,
 * `coterie_agent.variants` and `coterie_agent.predicting`. */
import { readVersion } from "../learning/client_round";
import { takesOf } from "../sources/takes";
import { type BlobRef, classesOf, type Manifest, partsOf, verifyManifest } from "../wire/bundle";
import { CodedError } from "../wire/errors";
import type { SignedManifest } from "../wire/messages";
import type { Tensors } from "../wire/tensors";
import { digestOf, verifyVariants } from "../wire/variants";
import { measureForms } from "./forms";
import type { KnownForms } from "./kept";
import type { Link } from "./link";
import { frozenOf } from "./opened";
import { answeringTensors } from "./personal";
import { Predictor } from "./predictor";
import type { Answering } from "./questions";
import type { Situation } from "./situation";
import type { Store } from "./store";
import type { Trust } from "./trust";

export class HeldModel {
  /** The content of a part of the version. Throws CodedError `bundle.missing`. */
  readonly part = async (sha256: string): Promise<Uint8Array> => {
    const found = await this.store.blob(sha256);
    if (found === null)
      throw new CodedError("bundle.missing", "a part of the version was removed; it is fetched again");
    return found;
  };

  constructor(
    private readonly store: Store,
    private readonly link: Link,
    private readonly situation: Situation,
    private readonly trust: Trust,
  ) {}

  /** Say what is held; a version that has lost a part is not, so that the platform sends it again. */
  async load(): Promise<void> {
    const signed = await this.store.get("model");
    if (signed === null) return;
    try {
      const manifest = verifyManifest(signed, ...this.trust.pinned());
      for (const { sha256 } of partsOf(manifest)) if ((await this.store.blob(sha256)) === null) return;
      const known = await this.store.get("forms");
      const forms = known?.version === manifest.version ? known.digest : "";
      this.store.fit(classesOf(manifest.model));
      this.situation.replace({ version: manifest.version, model: manifest.model, takes: takesOf(manifest), forms });
    } catch (error) {
      console.warn(`the model's manifest is damaged and is fetched again: ${(error as Error).message}`);
    }
  }

  async manifest(): Promise<Manifest | null> {
    const signed = await this.store.get("model");
    if (signed === null || this.situation.now.version === null) return null;
    return verifyManifest(signed, ...this.trust.pinned());
  }

  /** The model that answers, the personal one where there is one, else the version; null: there is none, or it is fetched again. */
  async answering(): Promise<Answering | null> {
    const manifest = await this.manifest();
    return manifest === null ? null : { manifest, outputs: (xs) => this.outputs(manifest, xs) };
  }

  /** How quick each form of the version is that the device holds; null: it knows no smaller one. */
  async knownForms(): Promise<KnownForms | null> {
    const known = await this.store.get("forms");
    return known?.version === this.situation.now.version ? known : null;
  }

  /**
   * Hold the version: its parts are downloaded and verified; null where `stop` said so before. Other files are removed,
   * except those of `also`.
   */
  async fetch(signed: SignedManifest, stop: () => boolean, also: readonly BlobRef[] = []): Promise<Manifest | null> {
    const manifest = verifyManifest(signed, ...this.trust.trusted());
    const parts = partsOf(manifest);
    if (!(await this.download(parts, [...parts, ...also], stop))) return null;
    await this.store.put("model", signed);
    if ((await this.store.get("forms"))?.version !== manifest.version) await this.forgetForms();
    this.store.fit(classesOf(manifest.model));
    this.situation.replace({ version: manifest.version, model: manifest.model, takes: takesOf(manifest) });
    return manifest;
  }

  /** Have all `parts`, and of other files only those to `keep`; false where `stop` said so before. */
  async download(parts: readonly BlobRef[], keep: readonly BlobRef[], stop: () => boolean): Promise<boolean> {
    const form = (await this.store.get("forms"))?.graph ?? null; // until another version is held
    const kept = new Set([...keep, ...(form === null ? [] : [form])].map(({ sha256 }) => sha256));
    for (const part of parts) {
      if (stop()) return false;
      if ((await this.store.blob(part.sha256)) !== null) continue;
      await this.store.keepBlob(part.sha256, await this.link.download(part), kept);
    }
    return true;
  }

  /** Have the smaller forms of the version that is held, see how quick each is here, and which one predicts. */
  async takeForms(signed: SignedManifest, stop: () => boolean): Promise<void> {
    const listed = verifyVariants(signed, ...this.trust.trusted());
    const manifest = await this.manifest();
    if (manifest === null) return;
    if (listed.version !== manifest.version) {
      const detail = "the list of smaller forms is of another version than the device holds";
      throw new CodedError("bundle.malformed", detail);
    }
    const graphs = listed.variants.map(({ graph }) => graph);
    if (!(await this.download(graphs, [...partsOf(manifest), ...graphs], stop))) return;
    const received = readVersion(await this.part(manifest.parameters.sha256), manifest.model);
    const frozen = await frozenOf(manifest, this.part);
    const known = await measureForms(listed, digestOf(signed), manifest, { part: this.part, received, frozen, stop });
    if (known === null) return;
    await this.store.put("forms", known);
    this.situation.replace({ forms: known.digest });
  }

  private async outputs(manifest: Manifest, xs: readonly Float32Array[]): Promise<number[][]> {
    const { model } = manifest;
    const [own, standing] = await Promise.all([this.store.get("own"), this.store.get("standing")]);
    const form = own === null ? await this.form(manifest) : null;
    if (form !== null) return outputsOf(await Predictor.alone(form, model), new Map(), xs);
    const frozen = await frozenOf(manifest, this.part);
    const read = async () => readVersion(await this.part(manifest.parameters.sha256), model);
    const version = await answeringTensors(own, standing, manifest, read);
    return outputsOf(await Predictor.open(await this.part(manifest.predict.sha256), model, frozen), version, xs);
  }

  /** The graph of the smaller form that was chosen; null: the version itself answers. */
  private async form({ version }: Manifest): Promise<Uint8Array | null> {
    const known = await this.store.get("forms");
    if (known === null || known.version !== version || known.graph === null) return null;
    const graph = await this.store.blob(known.graph.sha256);
    if (graph === null) await this.forgetForms(); // the disk has lost it: the version answers until it is there again
    return graph;
  }

  private async forgetForms(): Promise<void> {
    await this.store.drop("forms");
    this.situation.replace({ forms: "" });
  }
}

/** What `predictor`, which is closed then, gives of `version`. */
async function outputsOf(predictor: Predictor, version: Tensors, xs: readonly Float32Array[]): Promise<number[][]> {
  try {
    return await predictor.outputs(version, xs);
  } finally {
    await predictor.close();
  }
}
