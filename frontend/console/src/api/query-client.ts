import { QueryClient } from "@tanstack/react-query";
import { isProblem } from "./problem";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The platform tells what changes as it does; this catches what time alone changes.
      refetchInterval: 30_000,
      // The platform's own refusals do not change by asking again; a lost connection may.
      retry: (failures, error) => !isProblem(error) && failures < 3,
    },
  },
});
