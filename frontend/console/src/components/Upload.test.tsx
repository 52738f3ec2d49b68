import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { uploadCommand } from "../api/upload";
import { answers, fallsSilent, refuses } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { Upload } from "./Upload";

const DATASETS = "/api/datasets/";

function form(): FormData {
  const body = new FormData();
  body.append("name", "it's held out");
  body.append("file", new File(["samples"], "held-out.npz"));
  return body;
}

async function shown(onDone: (answer: unknown) => void = vi.fn()) {
  signedIn("registry.add_dataset");
  await show(
    <Upload
      action="registry.add_dataset"
      label="Upload"
      path={DATASETS}
      form={form}
      blocked={undefined}
      changes={[]}
      onDone={onDone}
    />,
  );
  const button = screen.getByRole("button", { name: "Upload" });
  await waitFor(() => expect(button.getAttribute("aria-disabled")).toBe("false"));
  return button;
}

it("sends the form and hands on the answer", async () => {
  answers("post", DATASETS, { id: "1", rows: 7 } as never);
  const done = vi.fn();
  await userEvent.click(await shown(done));
  await waitFor(() => expect(done.mock.calls[0]?.[0]).toEqual({ id: "1", rows: 7 }));
});

it.each([
  ["a refusal", () => refuses("post", DATASETS, 422, "registry.bad_dataset", "There is no y."), /no y.*bad_dataset/],
  ["a platform that is gone", () => fallsSilent("post", DATASETS), /Whether it was taken is not known/],
])("tells %s, for as long as the form stands there", async (_name, happens, words) => {
  happens();
  await userEvent.click(await shown());
  expect((await screen.findByRole("alert")).textContent).toMatch(words);
});

it("can be had as a command", () => {
  expect(uploadCommand(DATASETS, form())).toContain(
    `-F 'name=it'\\''s held out' -F 'file=@held-out.npz' '${window.location.origin}/api/datasets/'`,
  );
});
