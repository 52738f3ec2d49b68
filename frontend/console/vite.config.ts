import { tanstackRouter } from "@tanstack/router-plugin/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

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
    include: ["src/**/*.test.{ts,tsx}"],
    // One file instead of six thousand.
    alias: {
      "@tabler/icons-react": `${import.meta.dirname}/node_modules/@tabler/icons-react/dist/cjs/tabler-icons-react.cjs`,
    },
  },
}));
