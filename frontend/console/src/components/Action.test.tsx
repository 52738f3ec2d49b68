import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { api } from "../api/client";
import { answers, fallsSilent, refuses } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { Action } from "./Action";

const ID = "7f0d1c5e-0000-4000-8000-000000000001";
const PAUSE = "/api/devices/{id}/pause/";
const pause = (via: object) => api.POST(PAUSE, { params: { path: { id: ID } }, ...via });

it("says why one may not do it, and does nothing when it is pressed", async () => {
  signedIn();
  const call = vi.fn();
  await show(<Action action="fleet.revoke_device" label="Revoke" call={call} confirm="Sure?" />);
  const button = screen.getByRole("button", { name: "Revoke" });
  await userEvent.hover(button);
  expect(await screen.findByText("This needs the role operator; yours is viewer.")).toBeDefined();
  expect(button.getAttribute("aria-disabled")).toBe("true");
  await userEvent.click(button);
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(call).not.toHaveBeenCalled();
});

it("says why it cannot be done now, whoever asks", async () => {
  signedIn("fleet.pause_device");
  await show(<Action action="fleet.pause_device" label="Pause" call={pause} blocked="It has left." />);
  const button = screen.getByRole("button", { name: "Pause" });
  await userEvent.hover(button);
  expect(await screen.findByText("It has left.")).toBeDefined();
});

it("asks first where it must, does it once, and says so", async () => {
  signedIn("fleet.pause_device");
  const asked: string[] = [];
  answers("post", PAUSE, (request) => {
    asked.push(new URL(request.url).pathname);
    return {} as never;
  });
  await show(<Action action="fleet.pause_device" label="Pause" call={pause} confirm="Sure?" done="It rests." />);
  const button = screen.getByRole("button", { name: "Pause" });
  await waitFor(() => expect(button.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(button);
  expect(asked).toEqual([]);
  const dialog = await screen.findByRole("dialog");
  await userEvent.click([...dialog.querySelectorAll("button")].at(-1) as Element);
  expect(await screen.findByText("It rests.")).toBeDefined();
  expect(asked).toEqual([`/api/devices/${ID}/pause/`]);
});

it("does what a dialog asks about when Enter is pressed in its field, once it is ready", async () => {
  signedIn("fleet.pause_device");
  let times = 0;
  answers("post", PAUSE, () => {
    times += 1;
    return {} as never;
  });
  const asks = (unready?: string) => (
    <Action
      action="fleet.pause_device"
      label="Pause"
      call={pause}
      confirm={<input aria-label="Why" />}
      unready={unready}
    />
  );
  await show(
    <>
      {asks("Say why.")}
      {asks()}
    </>,
  );
  for (const [nth, expected] of [0, 1].entries()) {
    const button = screen.getAllByRole("button", { name: "Pause" })[nth] as HTMLElement;
    await waitFor(() => expect(button.getAttribute("aria-disabled")).toBe("false"));
    await userEvent.click(button);
    await userEvent.type(await screen.findByLabelText("Why"), "It is loud.{Enter}");
    await waitFor(() => expect(times).toBe(expected));
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  }
});

it.each([
  [
    "a refusal with its code",
    () => refuses("post", PAUSE, 409, "fleet.left", "It has left the fleet."),
    /It has left the fleet\. \[fleet\.left\]/,
  ],
  ["a platform that does not answer", () => fallsSilent("post", PAUSE), /Whether it was done is not known/],
])("tells %s", async (_name, happens, sentence) => {
  signedIn("fleet.pause_device");
  happens();
  await show(<Action action="fleet.pause_device" label="Pause" call={pause} />);
  const button = screen.getByRole("button", { name: "Pause" });
  await waitFor(() => expect(button.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(button);
  expect(await screen.findByText(sentence)).toBeDefined();
});
