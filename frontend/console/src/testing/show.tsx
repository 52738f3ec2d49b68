import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import type { components } from "../api/schema";
import { Notices } from "../components/Notices";
import { theme } from "../theme/theme";
import { answers } from "./mock";

type May = components["schemas"]["Session"]["may"][number];

/** Somebody with a role in the installation is signed in, who may do the named actions, and no others. */
export function signedIn(...actions: readonly string[]): void {
  const may = (action: string): May => ({ action, allowed: true, code: "", sentence: "" }) as May;
  answers("get", "/api/session/", {
    operator: { id: 1, username: "ada", role: "operator" },
    project: null,
    projects: [],
    all_projects: true,
    scopes: [],
    may: [
      ...actions.map(may),
      {
        action: "fleet.revoke_device",
        allowed: false,
        code: "accounts.not_allowed",
        sentence: "This needs the role operator; yours is viewer.",
      },
    ],
  } as unknown as components["schemas"]["Session"]);
}

/** Show a component as the console does: in its theme, with a router and a cache of its own. */
export async function show(component: ReactNode) {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const root = createRootRoute({ component: () => <div data-testid="shown">{component}</div> });
  const router = createRouter({
    routeTree: root,
    history: createMemoryHistory(),
    defaultNotFoundComponent: () => null,
  });
  render(
    <MantineProvider theme={theme} env="test">
      <QueryClientProvider client={queries}>
        <Notices />
        <RouterProvider router={router as never} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  await screen.findByTestId("shown");
  return { queries, router };
}
