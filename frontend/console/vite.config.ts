import { tanstackRouter } from "@tanstack/router-plugin/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { LANGUAGES } from "./language/catalogues.ts";
import { language } from "./language/plugin.ts";

const platform = process.env.COTERIE_URL ?? "http://127.0.0.1:8000";

/** Gives each component of Mantine's the styles that are its own, so that a page fetches those that it uses. */
const mantineStyles: Plugin = {
  name: "mantine-styles",
  apply: "build",
  transform(code, id) {
    const component = /@mantine\/core\/.*\/(\w+)\.module\.mjs$/.exec(id)?.[1];
    return component === undefined
      ? null
      : { code: `import "@mantine/core/styles/${component}.layer.css";\n${code}`, map: null };
  },
};

/** What `scripts/build.mjs` builds; undefined: English. */
const built = LANGUAGES.find((one) => one === process.env.CONSOLE_LANGUAGE);
const within = built === undefined ? "" : `${built}/`;

export default defineConfig(({ command }) => ({
  // Django's static files serve what is built; the page itself comes from the platform, which fills in the nonce.
  base: command === "build" ? `/static/console/${within}` : "/",
  html: { cspNonce: "__CSP_NONCE__" },
  plugins: [
    ...(built === undefined ? [] : [language(built)]),
    tanstackRouter({ target: "react", autoCodeSplitting: true }),
    react(),
    mantineStyles,
  ],
  build: {
    outDir: `../../platform/coterie/gateway/static/console/${within}`,
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    // What the first page needs compresses better as one; it is large, and all of it is needed.
    chunkSizeWarningLimit: 600,
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "first", tags: ["$initial"] }] } } },
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
    // The gate runs beside browsers on two cores.
    testTimeout: 60_000,
    projects: [
      // What draws no component leaves nothing behind: its files share one process and its modules.
      { extends: true, test: { name: "functions", include: ["{src,language}/**/*.test.ts"], isolate: false } },
      { extends: true, test: { name: "components", include: ["src/**/*.test.tsx"] } },
    ],
    // One file instead of six thousand.
    alias: {
      "@tabler/icons-react": `${import.meta.dirname}/node_modules/@tabler/icons-react/dist/cjs/tabler-icons-react.cjs`,
    },
  },
}));
