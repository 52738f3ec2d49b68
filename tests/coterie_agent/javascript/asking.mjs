// Asks with the JavaScript client what each line on standard input says, and writes a line with what came of it.
import { createInterface } from "node:readline";
import { PredictionError, Predictions } from "../../../edge_agent/coterie_agent/javascript/predictions.js";

const model = new Predictions(process.argv[2]);

async function asked({ call, samples, typed, aborted, ...options }) {
  if (aborted) {
    options.signal = AbortSignal.abort(new Error("enough"));
  }
  try {
    const given = typed ? samples.map((sample) => Float32Array.from(sample)) : samples;
    return { answer: await (call === "status" ? model.status(options) : model.predict(given, options)) };
  } catch (error) {
    if (!(error instanceof PredictionError)) {
      return { thrown: error.message };
    }
    const { code, detail, status, isPassing } = error;
    return { refused: { code, detail, status: status ?? null, isPassing } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { times = 1, ...request } = JSON.parse(line);
  const found = await Promise.all(Array.from({ length: times }, () => asked(request)));
  console.log(JSON.stringify(found));
}
