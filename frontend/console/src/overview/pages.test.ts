import { expect, it } from "vitest";
import { pageOf } from "./pages";

it.each([
  ["/api/devices/?reason=battery.low", "/devices?reason=battery.low"],
  ["/api/federations/7f/", "/federations/7f"],
  ["/api/tokens/", "/settings"],
  ["/api/unheard-of/", "/"],
])("%s is shown at %s", (path, page) => expect(pageOf(path)).toBe(page));
