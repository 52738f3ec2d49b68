import { QueryClient } from "@tanstack/react-query";
import { isProblem } from "./problem";

export const queryClient = new QueryClient({
  defaultOptions: {
    // What the browser holds of the network says nothing of a platform that may be on this very machine.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      staleTime: 5_000,
      // The platform tells what changes as it does; this catches what time alone changes.
      refetchInterval: 30_000,
      // The platform's own refusals do not change by asking again; a lost connection may.
      retry: (failures, error) => !isProblem(error) && failures < 3,
    },
  },
});
