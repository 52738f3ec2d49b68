/** A step that takes several gradients, between two of them: what `coterie_learning.client.optimisation` keeps of it. */
import type { TensorSpec } from "../wire/bundle";
import type { Tensor, Tensors } from "../wire/tensors";
import { combined, GRADIENT_RATE, type Gradients } from "./local/interface";

export class StepUnderWay {
  /** Where it began; null: no step is under way. */
  begun: Tensors | null = null;
  private gradients: readonly Tensors[] = [];

  constructor(
    private readonly by: Gradients,
    private readonly parameters: readonly TensorSpec[],
  ) {}

  /** Where the next gradient is taken, or the step ends, once a run of the graph has gone from `here` to `there`. */
  move(here: Tensors, there: Tensors): Tensors {
    const [from, to] = [this.ofParameters(here), this.ofParameters(there)];
    const begun = this.begun ?? from;
    const gradient = combined(from, to, (number, after) => Math.fround(number - after) / GRADIENT_RATE);
    const gradients = [...this.gradients, gradient];
    [this.begun, this.gradients] = gradients.length === this.by.runs ? [null, []] : [begun, gradients];
    return this.by.move(begun, gradients);
  }

  /** Where it began and its gradients so far, by PLACE/NAME; none where no step is under way. */
  saved(): Tensors {
    const kept = this.begun === null ? [] : [this.begun, ...this.gradients];
    return new Map(
      kept.flatMap((one, place) => [...one].map(([name, tensor]) => [`${place}/${name}`, tensor] as const)),
    );
  }

  /** Of what is `saved` after so many runs of the graph. */
  specs(runs: number): TensorSpec[] {
    const places = Array.from({ length: this.placesAfter(runs) }, (_, place) => place);
    return places.flatMap((place) => this.parameters.map((spec) => ({ ...spec, name: `${place}/${spec.name}` })));
  }

  /** Go on from what was `saved` after so many runs. */
  restore(saved: Tensors, runs: number): void {
    const places = Array.from(
      { length: this.placesAfter(runs) },
      (_, place): Tensors =>
        new Map(this.parameters.map(({ name }) => [name, saved.get(`${place}/${name}`) as Tensor])),
    );
    [this.begun, this.gradients] = [places[0] ?? null, places.slice(1)];
  }

  /** Tensors by parameter that are kept: where a step began, and its gradients. */
  private placesAfter(runs: number): number {
    const done = runs % this.by.runs;
    return done === 0 ? 0 : done + 1;
  }

  private ofParameters(version: Tensors): Tensors {
    return new Map(this.parameters.map(({ name }) => [name, version.get(name) as Tensor]));
  }
}
