/** A field to write in, which suggests the next word, and from which the device learns when its owner says so. */
import type { Tell } from "./classes";
import { el, section } from "./dom";

const PAUSE_MS = 300;

export class WordsPart {
  private readonly text = el("textarea", { id: "text", rows: 4 });
  private readonly suggestions = el("div");
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly tell: Tell) {
    this.suggestions.setAttribute("role", "group");
    this.suggestions.ariaLabel = "Suggested words";
    this.text.addEventListener("input", () => this.ask(PAUSE_MS));
  }

  draw(): HTMLElement {
    const learn = el("button", { type: "button", className: "main" }, "Learn from this");
    learn.onclick = () => {
      if (this.text.value.trim() !== "") this.tell({ do: "add-text", text: this.text.value });
    };
    this.ask(0);
    return section(
      "From words",
      el("p", {}, "Each word that the model knows is a sample, with the words before it. The text itself is not kept."),
      el("label", { htmlFor: "text" }, "Write here"),
      this.text,
      this.suggestions,
      learn,
    );
  }

  suggested(text: string, words: readonly string[]): void {
    if (text !== this.text.value) return; // the owner has gone on
    this.suggestions.replaceChildren(
      ...words.map((word) => el("button", { type: "button", onclick: () => this.take(word) }, word)),
    );
  }

  /** The device has learned from the text. */
  added(): void {
    this.text.value = "";
    this.ask(0);
  }

  /** The word takes the place of what there is of it. */
  private take(word: string): void {
    this.text.value = `${this.text.value.replace(/[\p{L}\p{N}'’]+$/u, "")}${word} `;
    this.text.focus();
    this.ask(0);
  }

  private ask(afterMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tell({ do: "suggest", text: this.text.value }), afterMs);
  }
}
