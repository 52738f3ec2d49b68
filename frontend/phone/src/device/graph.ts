/** An ONNX graph in onnxruntime-web's processor build, one thread. */
import "./clamp";
import * as ort from "onnxruntime-web/wasm";
import { CodedError } from "../wire/errors";
import type { AnyTensor, Numbers } from "../wire/tensors";

ort.env.wasm.numThreads = 1; // two were slower where it was measured, and are not there where a page is not isolated
ort.env.logLevel = "fatal"; // errors reach us as exceptions

/** Where the runtime's WebAssembly is fetched from; without it beside the script. */
export function useRuntime(wasm: string): void {
  ort.env.wasm.wasmPaths = { wasm };
}

export class Graph {
  private constructor(
    private readonly session: ort.InferenceSession,
    private readonly outputs: readonly string[],
  ) {}

  /** Throws CodedError `model.contract` where the graph takes or gives other names, or `model.broken`. */
  static async open(content: Uint8Array, inputs: ReadonlySet<string>, outputs: Iterable<string>): Promise<Graph> {
    const given = [...outputs];
    let session: ort.InferenceSession;
    try {
      session = await ort.InferenceSession.create(content, { executionProviders: ["wasm"] });
    } catch (error) {
      throw new CodedError("model.broken", `onnxruntime-web does not load the graph: ${(error as Error).message}`);
    }
    for (const [what, expected, found] of [
      ["inputs", inputs, new Set(session.inputNames)],
      ["outputs", new Set(given), new Set(session.outputNames)],
    ] as const) {
      const wrong = [...expected]
        .filter((name) => !found.has(name))
        .concat([...found].filter((name) => !expected.has(name)));
      if (wrong.length > 0) {
        const detail = `the graph's ${what} are not those that the manifest announces: ${wrong.slice(0, 5).join(", ")}`;
        throw new CodedError("model.contract", detail);
      }
    }
    return new Graph(session, given);
  }

  /** All outputs by name. Throws CodedError `data.does_not_fit` or `model.broken`. */
  async run(feeds: ReadonlyMap<string, AnyTensor>): Promise<Map<string, AnyTensor>> {
    try {
      const given = Object.fromEntries([...feeds].map(([name, tensor]) => [name, passed(tensor)]));
      const found = await this.session.run(given, this.outputs);
      return new Map(this.outputs.map((name) => [name, taken(found[name] as ort.Tensor)]));
    } catch (error) {
      throw failure((error as Error).message, [...feeds.values()]);
    }
  }

  async close(): Promise<void> {
    await this.session.release();
  }
}

/** Of onnxruntime, where a whole number of a sample, as of a word, chooses a row that a table does not have. */
const OUTSIDE_A_TABLE = /idx=(-?\d+) must be within the inclusive range \[-\d+,(\d+)\]/;

/** Why a run failed; whole numbers that were `given` and that the model has no row for are no fault of the graph. */
export function failure(message: string, given: readonly AnyTensor[]): CodedError {
  const outside = OUTSIDE_A_TABLE.exec(message);
  const isGiven = given.some(({ dtype, data }) => dtype !== "float32" && holds(data, Number(outside?.[1])));
  if (outside === null || !isGiven) return new CodedError("model.broken", `the graph failed: ${message}`);
  const [, found, last] = outside;
  return new CodedError("data.does_not_fit", `a sample holds the whole number ${found}, the model knows 0 to ${last}`);
}

const holds = (data: AnyTensor["data"], number: number): boolean => Array.from(data, Number).includes(number);

const passed = ({ dtype, data, shape }: AnyTensor): ort.Tensor => new ort.Tensor(dtype, data, shape);

const taken = ({ type, data, dims }: ort.Tensor): AnyTensor => ({
  dtype: type as AnyTensor["dtype"],
  data: data as Numbers,
  shape: dims,
});
