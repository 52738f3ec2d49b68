import type { ReactNode } from "react";
import { Failed } from "./Failed";
import { Loading } from "./Loading";

interface Props<Data> {
  /** As TanStack Query gives it. */
  readonly of: {
    readonly data: Data | undefined;
    readonly error: unknown;
    readonly refetch: () => unknown;
  };
  /** Pixels that the answer takes, more or less; without, a whole page. */
  readonly height?: number;
  readonly children: (data: Data) => ReactNode;
}

/** What the platform answers, once it does; until then that it is awaited, or why it does not come. */
export function Answer<Data>({ of: { data, error, refetch }, height, children }: Props<Data>) {
  if (data !== undefined) return children(data);
  if (error !== null) return <Failed error={error} retry={refetch} />;
  return <Loading {...(height !== undefined && { height })} />;
}
