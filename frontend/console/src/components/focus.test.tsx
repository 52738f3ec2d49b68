import { Modal } from "@mantine/core";
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, it } from "vitest";
import { show } from "../testing/show";
import { useFocusBack } from "./focus";

function Over({ onClose }: { onClose: () => void }) {
  useFocusBack();
  return <Modal opened onClose={onClose} title="Over the page" />;
}

function Page() {
  const [opened, open] = useState(false);
  return (
    <>
      <button type="button" onClick={() => open(true)}>
        Open
      </button>
      {opened && <Over onClose={() => open(false)} />}
    </>
  );
}

it("gives the keyboard back to what a dialog was opened by", async () => {
  await show(<Page />);
  const button = screen.getByRole("button", { name: "Open" });
  await userEvent.click(button);
  (await screen.findByRole("button", { name: "Close" })).focus();
  await userEvent.keyboard("{Escape}");
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(document.activeElement).toBe(button);
});
