import { tanstackRouter } from "@tanstack/router-plugin/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const platform = process.env.COTERIE_URL ?? "http://127.0.0.1:8000";

export default defineConfig(({ command }) => ({
  // Django's static files serve what is built; the page itself comes from the platform, which fills in the nonce.
  base: command === "build" ? "/static/console/" : "/",
  html: { cspNonce: "__CSP_NONCE__" },
  plugins: [tanstackRouter({ target: "react", autoCodeSplitting: true }), react()],
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
