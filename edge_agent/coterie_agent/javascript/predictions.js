// For programs on this device: predictions from `coterie-agent serve`, over 127.0.0.1.
//
//   import { Predictions } from "coterie-predictions";
//
//   const model = new Predictions();
//   const answer = await model.predict([[0.1, 0.2, 0.3]], { deadlineMs: 50, stream: "camera-1" });
//   console.log(answer.predictions[0].label);

import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** Longer than any deadline: the service itself keeps those. */
const TIMEOUT_MS = 90_000;

/** The service refused the request, or none answers; `code` and `detail` are stable and for people. */
export class PredictionError extends Error {
  constructor(code, detail, status) {
    super(`${detail} [${code}]`);
    this.name = "PredictionError";
    this.code = code;
    this.detail = detail;
    this.status = status;
  }

  get isPassing() {
    return this.status === 503;
  }
}

/** Asks the service of one agent. Requests may run side by side, as many as `connections` in agent.toml allows. */
export class Predictions {
  #file;
  #address;

  constructor(home = join(homedir(), ".local/share/coterie-agent")) {
    this.#file = join(home, "serve.json");
  }

  async predict(samples, { deadlineMs, stream = "", signal } = {}) {
    const ask = { samples: Array.from(samples, (sample) => ({ x: listed(sample) })), stream };
    if (deadlineMs !== undefined) {
      ask.deadline_ms = deadlineMs;
    }
    return this.#call("POST", "/predict", JSON.stringify(ask), signal);
  }

  async status({ signal } = {}) {
    return this.#call("GET", "/status", undefined, signal);
  }

  /** Predictions change nothing: what a service left unanswered when it began anew is asked again, once. */
  async #call(method, path, body, signal) {
    const known = this.#address;
    if (known !== undefined) {
      try {
        return await ask(known, method, path, body, signal);
      } catch (error) {
        const isOfAnEarlierService = error.code === "serve.not_running" || error.code === "local_api.unauthorised";
        if (!isOfAnEarlierService) {
          throw error;
        }
      }
    }
    this.#address = await read(this.#file);
    return ask(this.#address, method, path, body, signal);
  }
}

async function read(file) {
  try {
    const { url, token } = JSON.parse(await readFile(file, "utf8"));
    return { url: new URL(url).origin, token };
  } catch (error) {
    throw notRunning(`${file}: ${error.message}`);
  }
}

async function ask({ url, token }, method, path, body, signal) {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  let answer;
  let content;
  try {
    answer = await fetch(url + path, {
      method,
      body,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    content = await answer.text();
  } catch (error) {
    if (signal?.aborted) {
      throw signal.reason;
    }
    throw notRunning(error.cause?.message || error.message);
  }
  if (answer.ok) {
    return JSON.parse(content);
  }
  throw refused(answer.status, content);
}

function refused(status, content) {
  try {
    const { code, detail } = JSON.parse(content);
    return new PredictionError(code, detail, status);
  } catch {
    // Too many connections: turned away before a word was read.
    const detail = "too many connections to the service; close some, or raise `connections` in agent.toml, [serving]";
    return new PredictionError("serve.busy", detail, status);
  }
}

function notRunning(detail) {
  const told = `no prediction service answers (${detail}); run: coterie-agent serve`;
  return new PredictionError("serve.not_running", told, undefined);
}

/** Typed arrays are objects to JSON. */
function listed(sample) {
  if (Array.isArray(sample)) {
    return sample;
  }
  if (ArrayBuffer.isView(sample)) {
    return Array.from(sample);
  }
  return Object.fromEntries(Object.entries(sample).map(([name, values]) => [name, Array.from(values)]));
}
