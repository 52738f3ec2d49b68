import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { Failed } from "./Failed";
import { Loading } from "./Loading";
import { PageHead } from "./PageHead";

/** What a page that is about one row shows before the row is there, and instead where it does not come. */
export function until(title: string) {
  return {
    pendingComponent: () => (
      <>
        <PageHead title={title} />
        <Loading />
      </>
    ),
    errorComponent: ({ error }: ErrorComponentProps) => <NotShown title={title} error={error} />,
  };
}

function NotShown({ title, error }: { title: string; error: unknown }) {
  const router = useRouter();
  return (
    <>
      <PageHead title={title} />
      <Failed error={error} retry={() => router.invalidate()} />
    </>
  );
}
