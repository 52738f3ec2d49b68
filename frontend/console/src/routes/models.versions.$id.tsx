import { createFileRoute, redirect } from "@tanstack/react-router";
import { until } from "../components/until";
import { t } from "../language/t";
import { versionQuery } from "../models/queries";

/** A version's own address leads to its place in the lineage of its pair. */
export const Route = createFileRoute("/models/versions/$id")({
  loader: async ({ context, params }) => {
    const version = await context.queryClient.ensureQueryData(versionQuery(params.id));
    if (version !== undefined) {
      throw redirect({ to: "/models/$id", params: { id: version.pair }, search: { version: version.id } });
    }
  },
  ...until(t`Version`),
});
