import { createRouter } from "@tanstack/react-router";
import { queryClient } from "./api/query-client";
import { Failed } from "./components/Failed";
import { Loading } from "./components/Loading";
import { NotFound } from "./components/NotFound";
import { routeTree } from "./routeTree.gen";

export const router = createRouter({
  routeTree,
  context: { queryClient },
  // Sooner than that most answers are there.
  defaultPendingMs: 200,
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  defaultPendingComponent: Loading,
  defaultErrorComponent: ({ error, reset }) => <Failed error={error} retry={reset} />,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
