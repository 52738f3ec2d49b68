import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext } from "@tanstack/react-router";
import { Frame } from "../components/Frame";

export const Route = createRootRouteWithContext<{ queryClient: QueryClient }>()({ component: Frame });
