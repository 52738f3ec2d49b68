import { Anchor } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { pageOf } from "../overview/pages";

/** A sentence that leads to what it is about, where that has a page. */
export function About({ path, children }: { path: string | undefined; children: ReactNode }) {
  const router = useRouter();
  if (path === undefined || path === "") return children;
  const page = pageOf(path);
  return (
    <Anchor
      href={page}
      size="sm"
      c="inherit"
      underline="always"
      style={{ whiteSpace: "normal" }}
      onClick={(event) => {
        event.preventDefault();
        router.history.push(page);
      }}
    >
      {children}
    </Anchor>
  );
}
