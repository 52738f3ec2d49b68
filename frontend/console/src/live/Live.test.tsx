import { useQuery } from "@tanstack/react-query";
import { act, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { show } from "../testing/show";
import { FakeSocket } from "../testing/socket";
import { Live, useWatched } from "./Live";

const STALE = /The platform does not answer: this is how things were before/;

function Jobs({ ask }: { ask: () => Promise<number> }) {
  const { data } = useQuery({ queryKey: ["jobs"], queryFn: ask });
  useWatched(["d1", "d2"]);
  return <p>{data === undefined ? "looking" : `${data} jobs`}</p>;
}

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  FakeSocket.install();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("asks again for what the platform says has changed, and for nothing else", async () => {
  const ask = vi.fn().mockResolvedValueOnce(1).mockResolvedValueOnce(2);
  await show(
    <Live>
      <Jobs ask={ask} />
    </Live>,
  );
  expect(await screen.findByText("1 jobs")).toBeDefined();
  FakeSocket.latest.says({ frame: "changed", number: 1, document: { kind: "enrolment_token", id: "7" } });
  await act(() => vi.advanceTimersByTimeAsync(500));
  expect(ask).toHaveBeenCalledOnce();
  FakeSocket.latest.says({ frame: "changed", number: 2, document: { kind: "job", id: "7" } });
  await act(() => vi.advanceTimersByTimeAsync(500));
  expect(await screen.findByText("2 jobs")).toBeDefined();
});

it("asks again for what it was told before the line was open, once the page is there", async () => {
  const ask = vi.fn().mockResolvedValueOnce(1).mockResolvedValueOnce(2).mockResolvedValueOnce(3);
  await show(
    <Live>
      <Jobs ask={ask} />
    </Live>,
  );
  expect(await screen.findByText("1 jobs")).toBeDefined();
  FakeSocket.latest.says({ frame: "snapshot", number: 1, epoch: "e", documents: [] });
  await act(() => vi.advanceTimersByTimeAsync(2_000));
  expect(ask).toHaveBeenCalledOnce();
  await act(() => vi.advanceTimersByTimeAsync(4_000));
  expect(await screen.findByText("2 jobs")).toBeDefined();
  FakeSocket.latest.says({ frame: "snapshot", number: 1, epoch: "of another process", documents: [] });
  await act(() => vi.advanceTimersByTimeAsync(500));
  expect(await screen.findByText("3 jobs")).toBeDefined();
});

it("says that what it shows is old when the line is lost, and no longer when it is back", async () => {
  await show(
    <Live>
      <Jobs ask={async () => 1} />
    </Live>,
  );
  FakeSocket.latest.says({ frame: "tick", number: 1, at: "" });
  expect(screen.queryByText(STALE)).toBeNull();
  await act(() => vi.advanceTimersByTimeAsync(16_000));
  expect(await screen.findByText(STALE)).toBeDefined();
  expect(screen.getByText("1 jobs")).toBeDefined();
  await act(() => vi.advanceTimersByTimeAsync(31_000));
  FakeSocket.latest.onopen?.();
  expect(FakeSocket.latest.sent[0]).toMatchObject({ frame: "hello", devices: ["d1", "d2"] });
  FakeSocket.latest.says({ frame: "tick", number: 1, at: "" });
  await waitFor(() => expect(screen.queryByText(STALE)).toBeNull());
});
