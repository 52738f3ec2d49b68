import { Alert } from "@mantine/core";
import { IconPlugConnectedX } from "@tabler/icons-react";
import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { type Frame, outdatedBy } from "./frames";
import { Line, type Standing } from "./line";

const GATHER_MS = 250;
/** What changes just as a page is opened is seen that much later, at most: the page fills first. */
const CATCH_UP_MS = 5_000;
const LiveLine = createContext<Line | null>(null);

/** Keeps every page true: what the platform says has changed is asked for again, if it is shown. */
export function Live({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [line, setLine] = useState<Line | null>(null);
  const [standing, setStanding] = useState<Standing>("connecting");
  useEffect(() => {
    const outdated = new Map<string, QueryKey>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let catchingUp: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      for (const queryKey of outdated.values()) queries.invalidateQueries({ queryKey });
      outdated.clear();
    };
    const outdate = (frame: Frame) => {
      for (const key of outdatedBy(frame)) outdated.set(JSON.stringify(key), key);
      if (outdated.size > 0) timer ??= setTimeout(flush, GATHER_MS);
    };
    const opened = new Line(`${window.location.origin.replace(/^http/, "ws")}/console/v1/socket`, {
      onStanding: setStanding,
      onFrame: (frame) => {
        if (frame.frame !== "snapshot" || catchingUp !== undefined) outdate(frame);
        else catchingUp = setTimeout(outdate, CATCH_UP_MS, frame);
      },
    });
    setLine(opened);
    return () => {
      clearTimeout(timer);
      clearTimeout(catchingUp);
      opened.close();
    };
  }, [queries]);
  return (
    <LiveLine value={line}>
      {standing === "stale" && (
        <Alert color="yellow" variant="light" mb="md" icon={<IconPlugConnectedX />} role="status">
          The platform does not answer: this is how things were before. The page comes back by itself.
        </Alert>
      )}
      {children}
    </LiveLine>
  );
}

/** Have the platform tell of these devices as long as they are shown. */
export function useWatched(devices: readonly string[]): void {
  const line = useContext(LiveLine);
  const wanted = devices.join(" ");
  const last = useRef("");
  useEffect(() => {
    if (line === null || last.current === wanted) return;
    last.current = wanted;
    line.watch(wanted === "" ? [] : wanted.split(" "));
  }, [line, wanted]);
}
