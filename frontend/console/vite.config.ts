import { readFileSync } from "node:fs";
import { tanstackRouter } from "@tanstack/router-plugin/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const platform = process.env.COTERIE_URL ?? "http://127.0.0.1:8000";

/** Fails the build where it uses a component of Mantine's whose styles `theme/mantine.css` leaves out. */
const mantineStyles: Plugin = {
  name: "mantine-styles",
  apply: "build",
  generateBundle(_options, bundle) {
    const imported = readFileSync(`${import.meta.dirname}/src/theme/mantine.css`, "utf8");
    const modules = Object.values(bundle).flatMap((part) => (part.type === "chunk" ? part.moduleIds : []));
    const used = modules.flatMap((id) => /@mantine\/core\/.*\/(\w+)\.module\.mjs$/.exec(id)?.[1] ?? []);
    const missing = used.filter((component) => !imported.includes(`/${component}.layer.css`));
    if (missing.length > 0) this.error(`src/theme/mantine.css does not import the styles of ${missing.join(", ")}`);
  },
};

export default defineConfig(({ command }) => ({
  // Django's static files serve what is built; the page itself comes from the platform, which fills in the nonce.
  base: command === "build" ? "/static/console/" : "/",
  html: { cspNonce: "__CSP_NONCE__" },
  plugins: [tanstackRouter({ target: "react", autoCodeSplitting: true }), react(), mantineStyles],
  build: {
    outDir: "../../platform/coterie/gateway/static/console",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: {
      "/api": platform,
      "/console/": { target: platform, ws: true },
    },
  },
  test: {
    environment: "happy-dom",
    setupFiles: ["src/testing/setup.ts"],
    include: ["src/**/*.test.{ts,tsx}"],
    // One file instead of six thousand.
    alias: {
      "@tabler/icons-react": `${import.meta.dirname}/node_modules/@tabler/icons-react/dist/cjs/tabler-icons-react.cjs`,
    },
  },
}));
