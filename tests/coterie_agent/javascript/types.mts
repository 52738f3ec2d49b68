// Compiled, never run: what a program in TypeScript may write, and what it may not.
import { type PredictionAnswer, PredictionError, Predictions } from "coterie-predictions";

const model = new Predictions("/home/ann/.local/share/coterie-agent");

export async function label(): Promise<string> {
  try {
    const answer: PredictionAnswer = await model.predict([[0, 1], { pixels: new Float32Array(4) }], { deadlineMs: 50 });
    const [first] = answer.predictions;
    // @ts-expect-error: an answer may be late, and then it is the last one
    const whose: null = answer.fallback;
    // @ts-expect-error: not every model tells classes apart
    first.label;
    return first.kind === "class" ? first.label : `${whose} ${first.output.length}`;
  } catch (error) {
    return error instanceof PredictionError && error.isPassing ? error.code : "never";
  }
}

// @ts-expect-error: samples are numbers
model.predict([["a"]]);
// @ts-expect-error: the deadline is in milliseconds, and its name says so
model.predict([[0]], { deadline: 1 });
