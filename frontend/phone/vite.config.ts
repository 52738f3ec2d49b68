import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const platform = process.env.COTERIE_URL ?? "http://127.0.0.1:8000";
const BASE = "/static/phone/";

/** Writes the service worker, which names the files of the build that it keeps, and the web manifest. */
const shell: Plugin = {
  name: "shell",
  apply: "build",
  generateBundle(_, bundle) {
    const files = Object.keys(bundle)
      .filter((name) => name.startsWith("assets/"))
      .map((name) => BASE + name)
      .sort();
    const build = `phone-${createHash("sha256").update(files.join()).digest("hex").slice(0, 12)}`;
    const read = (name: string) => readFileSync(join(import.meta.dirname, "shell", name), "utf8");
    const source = read("sw.js").replace("__BUILD__", build).replace("__FILES__", JSON.stringify(files));
    this.emitFile({ type: "asset", fileName: "sw.js", source });
    this.emitFile({ type: "asset", fileName: "manifest.webmanifest", source: read("manifest.webmanifest") });
  },
};

export default defineConfig(({ command }) => ({
  // Django's static files serve what is built; page, service worker and web manifest come from /phone/.
  base: command === "build" ? BASE : "/",
  plugins: [shell],
  build: {
    outDir: "../../platform/coterie/gateway/static/phone",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  worker: { format: "es" },
  server: { proxy: { "/device/": platform, "/static/gateway/": platform } },
  test: { include: ["src/**/*.test.ts"], environment: "node", testTimeout: 60_000 },
}));
