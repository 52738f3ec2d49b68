import { csrfToken } from "./csrf";
import { problemOf } from "./problem";

interface Sending {
  /** Hears which share of the form has been sent, 0 to 1. */
  readonly onSent?: (share: number) => void;
  /** Ends it. */
  readonly signal?: AbortSignal;
}

/** Send a form with files, and say how far it is, which `fetch` cannot. A refusal is thrown as a `Problem`. */
export function upload(path: string, form: FormData, { onSent, signal }: Sending = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", new URL(path, window.location.origin));
    request.setRequestHeader("X-CSRFToken", csrfToken());
    request.upload.onprogress = ({ loaded, total }) => onSent?.(total === 0 ? 0 : loaded / total);
    request.onload = () => {
      const body = parsed(request.responseText);
      if (request.status >= 200 && request.status < 300) resolve(body);
      else reject(problemOf(request.status, body));
    };
    request.onerror = () => reject(new TypeError("The platform does not answer."));
    request.onabort = () => reject(new DOMException("It was ended.", "AbortError"));
    signal?.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

/** The command that sends the same form, with the files by their names. */
export function uploadCommand(path: string, form: FormData): string {
  const fields = [...form].map(([name, value]) =>
    typeof value === "string" ? `-F ${quoted(`${name}=${value}`)}` : `-F ${quoted(`${name}=@${value.name}`)}`,
  );
  const url = new URL(path, window.location.origin).href;
  return ["curl --fail-with-body", '-H "Authorization: Bearer $COTERIE_TOKEN"', ...fields, quoted(url)].join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
