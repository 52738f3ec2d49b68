import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { SignOnRoles } from "./SignOnRoles";

const MADE_AT = "2026-01-01T12:00:00Z";
const WARDS = {
  id: 3,
  organisation: 2,
  organisation_name: "Hospital",
  name: "Wards",
  created_at: MADE_AT,
  archived_at: null,
};
const CARETAKER = {
  id: 7,
  organisation: 2,
  organisation_name: "Hospital",
  name: "caretaker",
  actions: [],
  made_at: MADE_AT,
};

it("lets a group give a role of the project's organisation", async () => {
  signedIn("accounts.map_claim");
  answers("get", "/api/sign-on-roles/", { count: 0, next: null, previous: null, results: [] });
  answers("get", "/api/custom-roles/", {
    count: 2,
    next: null,
    previous: null,
    results: [CARETAKER, { ...CARETAKER, id: 8, organisation: 9, name: "of others" }],
  });
  const sent: unknown[] = [];
  answers("post", "/api/sign-on-roles/", async (request) => {
    sent.push(await request.json());
    return {
      id: 1,
      claim_value: "ward-staff",
      role: "viewer" as const,
      custom_role: 7,
      custom_role_name: "caretaker",
      organisation: null,
      project: 3,
      made_at: MADE_AT,
    };
  });
  await show(<SignOnRoles projects={[WARDS]} placeOf={() => "Wards"} />);
  const give = await screen.findByRole("button", { name: "Let it give the role" });
  await userEvent.type(screen.getByLabelText("Group of the provider"), "ward-staff");
  expect(give.getAttribute("aria-disabled")).toBe("true");
  await userEvent.click(screen.getByRole("combobox", { name: "Project" }));
  await userEvent.click(await screen.findByRole("option", { name: "Hospital / Wards" }));
  await userEvent.click(screen.getByRole("combobox", { name: "Role" }));
  expect(screen.queryByRole("option", { name: "of others" })).toBeNull();
  await userEvent.click(await screen.findByRole("option", { name: "caretaker" }));
  await waitFor(() => expect(give.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(give);
  await waitFor(() => expect(sent).toEqual([{ claim_value: "ward-staff", custom_role: 7, project: 3 }]));
});
