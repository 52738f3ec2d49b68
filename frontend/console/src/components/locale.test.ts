import { afterEach, expect, it, vi } from "vitest";

afterEach(() => {
  localStorage.clear();
  vi.resetModules();
});

async function written(writing: string) {
  localStorage.setItem("coterie.writing", writing);
  vi.resetModules();
  const { clock, numbers } = await import("./locale");
  const { percent } = await import("./units");
  return [clock("2026-01-10T12:00:00Z"), numbers().format(12_000.5), percent(0.934)];
}

it("writes as the person chose", async () => {
  expect(await written('{"locale":"de-DE","zone":"Asia/Tokyo"}')).toEqual(["21:00:00", "12.000,5", "93,4\u00a0%"]);
});

it.each(["{", '{"locale":"no tag at all","zone":"Mars/Base"}', "[]"])(
  "passes over what does not fit: %s",
  async (kept) => {
    expect((await written(kept))[1]).toBe("12,000.5");
  },
);

it("writes as in the language that was chosen, in the browser's own way where it speaks that", async () => {
  const { localeOf } = await import("./locale");
  vi.spyOn(navigator, "language", "get").mockReturnValue("de-CH");
  expect([localeOf(null), localeOf("de"), localeOf("en")]).toEqual(["de-CH", "de-CH", "en"]);
});
