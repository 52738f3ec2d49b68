/** Records what the phone feels while its owner does something, as windows of acceleration. */
import type { Answers } from "../device/sources";
import { feltOf, HERTZ, PUT_AWAY_MS, WindowCutter } from "../sources/windows";
import { classField, type Tell, toldOf } from "./classes";
import { el, section } from "./dom";

/** Within which a phone that has a sensor has told something. */
const TELLS_WITHIN_MS = 3000;
type Asked = { requestPermission?: () => Promise<"granted" | "denied"> };

export class MotionPart {
  private cutter: WindowCutter | null = null;
  private steps = 0;
  private windows = 0;
  private heard = false;
  private readonly feel = (event: DeviceMotionEvent): void => this.felt(event);
  private field = el("select");
  private readonly button = el("button", { type: "button", className: "main" });
  private readonly state = el("p", { role: "status" });
  private readonly answer = el("p", { className: "quiet" });

  constructor(private readonly tell: Tell) {
    this.button.onclick = () => void (this.cutter === null ? this.begin() : this.stop());
  }

  draw(steps: number, classes: readonly string[]): HTMLElement {
    this.stop();
    this.steps = steps;
    const { field, label } = classField("doing", "What you do", classes);
    this.field = field;
    const length = `${((steps - 1) / HERTZ).toFixed(2)} seconds`;
    const lesson =
      `Choose what you do, tap “Record”, and put the phone where you carry it, with this page open. Each ${length} are ` +
      `a sample; the first and the last ${PUT_AWAY_MS / 1000} seconds are left out.`;
    return section("From motion", el("p", {}, lesson), label, field, this.button, this.state, this.answer);
  }

  /** What was complete is kept. */
  stop(): void {
    removeEventListener("devicemotion", this.feel);
    this.button.textContent = "Record";
    this.field.disabled = false;
    if (this.cutter !== null) this.state.textContent = `Recorded: ${this.windows} samples.`;
    this.cutter = null;
  }

  answered(answers: Answers): void {
    this.answer.textContent = toldOf(answers);
  }

  private async begin(): Promise<void> {
    const refusal = await this.refusal();
    if (refusal !== null) {
      this.state.textContent = refusal;
      return;
    }
    this.cutter = new WindowCutter(this.steps);
    [this.windows, this.heard] = [0, false];
    this.button.textContent = "Stop";
    this.field.disabled = true;
    this.state.textContent = "Recording.";
    addEventListener("devicemotion", this.feel);
    const begun = this.cutter;
    setTimeout(() => {
      if (this.cutter !== begun || this.heard) return;
      this.stop();
      this.state.textContent = "This device tells this page of no motion.";
    }, TELLS_WITHIN_MS);
  }

  /** Asks for the permission, where browsers want it; null: it may be recorded. */
  private async refusal(): Promise<string | null> {
    if (typeof DeviceMotionEvent === "undefined") return "This browser tells pages of no motion.";
    const asked = DeviceMotionEvent as Asked;
    try {
      if (asked.requestPermission === undefined || (await asked.requestPermission()) === "granted") return null;
    } catch {
      // it was not asked from a tap, or a policy forbids it: as if it were refused
    }
    return "Motion is not allowed to this page; the browser's settings for this site can allow it.";
  }

  private felt({ accelerationIncludingGravity, timeStamp }: DeviceMotionEvent): void {
    const felt = feltOf(timeStamp, accelerationIncludingGravity, navigator.vendor.startsWith("Apple"));
    if (felt === null || this.cutter === null) return;
    this.heard = true;
    const windows = this.cutter.feel(felt);
    if (windows.length === 0) return;
    this.windows += windows.length;
    this.state.textContent = `Recording: ${this.windows} samples.`;
    this.tell({ do: "add-windows", windows, label: Number(this.field.value) });
  }
}
