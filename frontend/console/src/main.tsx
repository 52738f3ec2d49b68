import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/query-client";
import { Notices } from "./components/Notices";
import { router } from "./router";
import { theme } from "./theme/theme";

// The build gives each component its own styles; see vite.config.ts.
if (import.meta.env.DEV) await import("@mantine/core/styles.layer.css");

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
setNonce(nonce); // for the style that keeps the page from scrolling under a dialogue
const root = document.getElementById("console");
if (root === null) throw new Error("the page has no place for the console");

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queryClient}>
        <Notices />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
