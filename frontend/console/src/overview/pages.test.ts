import { expect, it } from "vitest";
import { pageOf } from "./pages";

it.each([
  ["/api/devices/?reason=battery.low", "/devices?reason=battery.low"],
  ["/api/devices/?tag=kiosk&ready=false", "/devices?tag=kiosk&ready=false"],
  ["/api/devices/?search=kitchen", "/devices?q=kitchen"],
  ["/api/federations/7f/", "/federations/7f"],
  ["/api/rounds/?federation=7f&state=abandoned", "/federations/7f?tab=rounds&state=abandoned"],
  ["/api/rounds/", "/federations"],
  ["/api/assignments/?state=rejected&sort=-changed_at", "/parts?state=rejected&sort=-changed_at"],
  ["/api/versions/9a/", "/models/versions/9a"],
  ["/api/jobs/9a/", "/jobs?job=9a"],
  ["/api/jobs/", "/jobs"],
  ["/api/audit/7/", "/audit?entry=7"],
  ["/api/tokens/", "/settings?tab=tokens"],
  ["/api/operators/?role=viewer", "/settings?tab=people&role=viewer"],
  ["/api/webhooks/", "/settings?tab=webhooks"],
  ["/api/unheard-of/", "/"],
])("%s is shown at %s", (path, page) => expect(pageOf(path)).toBe(page));
