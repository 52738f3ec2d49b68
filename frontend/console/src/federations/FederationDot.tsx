import { hueOf } from "../chart/hues";
import { useFederationHue } from "./hues";

/** The colour of a federation, beside its name; charts draw it in the same. */
export function FederationDot({ of }: { of: string }) {
  const hue = useFederationHue()(of);
  const background = hue === undefined ? "transparent" : `var(${hueOf(hue)})`;
  return (
    <span
      aria-hidden
      style={{ display: "inline-block", width: 9, height: 9, marginInlineEnd: 7, borderRadius: 2, background }}
    />
  );
}
