import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { CustomRoles } from "./CustomRoles";

const HOSPITAL = { id: 2, name: "Hospital", created_at: "2026-01-01T12:00:00Z", archived_at: null };

it("makes a role of chosen actions", async () => {
  signedIn("accounts.create_custom_role");
  answers("get", "/api/custom-roles/", { count: 0, next: null, previous: null, results: [] });
  answers("get", "/api/custom-roles/actions/", [
    { action: "fleet.pause_device", title: "Pause a device", needs: "operator", scope: "fleet" },
  ]);
  const sent: unknown[] = [];
  answers("post", "/api/custom-roles/", async (request) => {
    const body = (await request.json()) as { organisation: number; name: string; actions: string[] };
    sent.push(body);
    return { ...body, id: 1, organisation_name: HOSPITAL.name, made_at: "2026-01-01T12:00:00Z" };
  });
  await show(<CustomRoles organisations={[HOSPITAL]} />);
  const make = await screen.findByRole("button", { name: "Make a role" });
  expect(make.getAttribute("aria-disabled")).toBe("true");
  await userEvent.type(screen.getByLabelText("Name of a new role"), "caretaker");
  await userEvent.click(screen.getByRole("combobox", { name: "What it may do" }));
  await userEvent.click(await screen.findByRole("option", { name: "Pause a device" }));
  await waitFor(() => expect(make.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(make);
  await waitFor(() => expect(sent).toEqual([{ organisation: 2, name: "caretaker", actions: ["fleet.pause_device"] }]));
});
