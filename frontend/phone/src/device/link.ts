/** HTTPS to the platform that served this page: messages as POST, blobs as GET, uploads as PATCH in chunks. */
import * as v from "valibot";
import type { BlobRef } from "../wire/bundle";
import { joined, sha256Hex } from "../wire/bytes";
import { CodedError } from "../wire/errors";
import type { OfferPortion } from "../wire/helping";
import { Done, decode, MAX_MESSAGE_BYTES, type OfferUpdate, Problem, UploadState } from "../wire/messages";
import type { OfferMasked } from "../wire/secure_sum";
import { Refused, Unreachable } from "./failure";

const ROOT = "/device/v1";
const TIMEOUT_MS = 30_000;

/** What travels in pieces. */
export type Uploaded = "update" | "masked-update" | "portion";
const OFFERS: Readonly<Record<Uploaded, string>> = {
  update: "offer-update",
  "masked-update": "offer-masked",
  portion: "offer-portion",
};

/** Called with what is about to leave the device, its size in bytes, and the text where it is a message. */
export type RecordSent = (what: string, bytes: number, body: string | null) => Promise<void>;

export class Link {
  constructor(
    private readonly credential: string | null,
    private readonly recordSent: RecordSent,
  ) {}

  /** The platform's reply to the message `name`. Throws Unreachable or Refused. */
  async call<S extends v.GenericSchema>(name: string, message: object, reply: S): Promise<v.InferOutput<S>> {
    const body = JSON.stringify(message);
    // A secret that is of no use any more need not be kept, and one that is must not.
    await this.recordSent(name, body.length, name === "enrol" ? null : body);
    const response = await this.request("POST", `/${name}`, body, { "Content-Type": "application/json" });
    return understood(reply, await textOf(response), name);
  }

  /** A blob, verified. Throws Unreachable, Refused, or CodedError `bundle.wrong_hash`. */
  download(content: BlobRef): Promise<Uint8Array<ArrayBuffer>> {
    return this.verified(`/blobs/${content.sha256}`, content);
  }

  /** The portion of a transfer, verified. Throws as `download` does. */
  downloadPortion(transfer: string, content: BlobRef): Promise<Uint8Array<ArrayBuffer>> {
    return this.verified(`/portions/${transfer}`, content);
  }

  private async verified(path: string, { sha256, size_bytes }: BlobRef): Promise<Uint8Array<ArrayBuffer>> {
    const response = await this.request("GET", path, null, {});
    const content = await bytesOf(response, size_bytes);
    if (content.length !== size_bytes || sha256Hex(content) !== sha256) {
      throw new CodedError("bundle.wrong_hash", `the download of ${sha256} is not what was named`);
    }
    return content;
  }

  /** Send one piece of an assignment's update or of a transfer's portion. Throws Unreachable or Refused. */
  async upload(what: Uploaded, key: string, offset: number, chunk: Uint8Array<ArrayBuffer>): Promise<UploadState> {
    await this.recordSent(what, chunk.length, null);
    const headers = { "Upload-Offset": `${offset}`, "Content-Type": "application/offset+octet-stream" };
    const path = what === "portion" ? "portions" : "uploads";
    const response = await this.request("PATCH", `/${path}/${key}`, chunk, headers);
    return understood(UploadState, await textOf(response), "upload");
  }

  private async request(
    method: string,
    path: string,
    body: BodyInit | null,
    headers: Readonly<Record<string, string>>,
  ): Promise<Response> {
    const authorization = this.credential === null ? {} : { Authorization: `Bearer ${this.credential}` };
    let response: Response;
    try {
      response = await fetch(ROOT + path, {
        method,
        body,
        headers: { Accept: "application/json", ...authorization, ...headers },
        cache: "no-store",
        credentials: "omit", // a person signed in to the console here is not the device
        redirect: "error",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (error) {
      throw new Unreachable(`the platform does not answer: ${(error as Error).message}`);
    }
    if (!response.ok) throw refusalOf(response.status, await textOf(response));
    return response;
  }
}

/** Brings an update, masked or not, or a portion to the platform, from wherever it says that the last attempt ended. */
export async function deliver(
  link: Link,
  what: Uploaded,
  offer: OfferUpdate | OfferMasked | OfferPortion,
  payload: Uint8Array,
  { chunkBytes, stop }: { chunkBytes: number; stop: () => boolean },
): Promise<"accepted" | "stopped"> {
  const announce = () => link.call(OFFERS[what], offer, UploadState);
  const key = "transfer" in offer ? offer.transfer : offer.assignment;
  let state = await announce();
  while (!state.accepted) {
    if (stop()) return "stopped";
    if (state.offset >= offer.size_bytes) {
      throw new Unreachable("the platform has all of it and has not accepted it yet");
    }
    const from = state.offset;
    try {
      state = await link.upload(what, key, from, payload.slice(from, from + chunkBytes));
    } catch (error) {
      if (!(error instanceof Refused) || error.code !== "upload.wrong_offset") throw error;
      state = await announce();
    }
    if (state.offset === from && !state.accepted)
      throw new Unreachable("the platform keeps nothing of what it is sent");
  }
  return "accepted";
}

/** Of an upload that is sent at once. */
export const CHUNK_BYTES = 256 << 10;

/** For messages whose reply says nothing. */
export const NOTHING = Done;

function understood<S extends v.GenericSchema>(schema: S, text: string, what: string): v.InferOutput<S> {
  try {
    return decode(schema, text, what);
  } catch (error) {
    throw new Unreachable(`an answer that is not the platform's: ${(error as Error).message}`);
  }
}

/** The platform's error; an error page of a proxy or a captive portal is not an answer. */
function refusalOf(status: number, text: string): CodedError {
  try {
    return new Refused(v.parse(Problem, JSON.parse(text)));
  } catch {
    return new Unreachable(`HTTP ${status} from something that is not the platform`);
  }
}

async function textOf(response: Response): Promise<string> {
  return new TextDecoder().decode(await bytesOf(response, MAX_MESSAGE_BYTES));
}

/** At most `most` bytes of the body. Throws Unreachable. */
async function bytesOf(response: Response, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    const reader = response.body?.getReader();
    for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
      parts.push(part.value);
      size += part.value.length;
      if (size > most) {
        await reader?.cancel();
        throw new Unreachable(`an answer of more than ${most} bytes is not the platform's`);
      }
    }
  } catch (error) {
    throw error instanceof Unreachable ? error : new Unreachable(`the answer broke off: ${(error as Error).message}`);
  }
  return joined(parts);
}
