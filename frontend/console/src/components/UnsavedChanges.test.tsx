import { Link } from "@tanstack/react-router";
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { show } from "../testing/show";
import { UnsavedChanges } from "./UnsavedChanges";

function Page({ present }: { present: boolean }) {
  return (
    <>
      <UnsavedChanges present={present} />
      <Link to="/devices">Devices</Link>
    </>
  );
}

const address = () => screen.getByRole("link", { name: "Devices" }).getAttribute("data-status");

it("asks before changes are left, and stays where one wants to", async () => {
  await show(<Page present />);
  await userEvent.click(screen.getByRole("link", { name: "Devices" }));
  expect(await screen.findByText("Your changes are not saved")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Stay here" }));
  expect(address()).not.toBe("active");
});

it("lets go who wants to leave them", async () => {
  await show(<Page present />);
  await userEvent.click(screen.getByRole("link", { name: "Devices" }));
  await userEvent.click(await screen.findByRole("button", { name: "Leave without saving" }));
  expect(address()).toBe("active");
});

it("asks nothing where nothing was changed", async () => {
  await show(<Page present={false} />);
  await userEvent.click(screen.getByRole("link", { name: "Devices" }));
  expect(screen.queryByText("Your changes are not saved")).toBeNull();
  expect(address()).toBe("active");
});
