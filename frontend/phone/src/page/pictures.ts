/** Takes pictures that the owner picks, or takes now. */
import type { Answers } from "../device/sources";
import { classField, type Tell, toldOf } from "./classes";
import { el, section } from "./dom";

export class PicturesPart {
  private readonly answer = el("p", { className: "quiet", role: "status" });

  constructor(private readonly tell: Tell) {}

  draw(classes: readonly string[]): HTMLElement {
    const { field, label } = classField("shows", "What they show", classes, ["ask me later"]);
    const file = el("input", {
      type: "file",
      id: "pictures-file",
      accept: "image/*",
      multiple: true,
      className: "file",
    });
    file.addEventListener("change", () => {
      const [files, chosen] = [[...(file.files ?? [])], Number(field.value)];
      if (files.length > 0) this.tell({ do: "add-pictures", files, label: chosen < 0 ? null : chosen });
      file.value = "";
    });
    const lesson =
      "Choose what the pictures show, then the pictures. Each is cut in its middle and made small here; nothing else of " +
      "the file is kept, neither its place nor its time.";
    const pick = el("label", { htmlFor: "pictures-file" }, "Add pictures");
    return section("From pictures", el("p", {}, lesson), label, field, pick, file, this.answer);
  }

  answered(answers: Answers): void {
    this.answer.textContent = toldOf(answers);
  }
}
