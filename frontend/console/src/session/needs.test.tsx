import { screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { Problem } from "../api/problem";
import { Answer } from "../components/Answer";
import { PLACES, placesFor } from "../components/places";
import { commandsFor } from "../search/found";
import { answers, refuses } from "../testing/mock";
import { show } from "../testing/show";
import { Permitted } from "./Permitted";
import type { Session } from "./session";

const ROLE_NEEDED = { code: "acting.role_needed", sentence: "This needs the role operator; yours is viewer." };
const NO_ROLE = { code: "acting.no_project", sentence: "You have no role in any project here." };

function session(project: Session["project"], allProjects: boolean, refused = ROLE_NEEDED): Session {
  return {
    operator: { id: 1, username: "cara", role: "" },
    project,
    projects: [],
    all_projects: allProjects,
    may: [
      { action: "fleet.pause_device", title: "Pause a device", allowed: refused !== NO_ROLE, ...refused },
      { action: "federations.create_federation", title: "Create a federation", allowed: false, ...refused },
    ],
  } as unknown as Session;
}

const CARA = session({ id: 3, name: "Wards", organisation_name: "Hospital" }, false);
const ADMINISTRATOR = session(null, true);
const NOBODY_YET = session(null, false, NO_ROLE);

it("offers the pages that one may see, in the sidebar and in the search", () => {
  const all = PLACES.map(({ to }) => to);
  expect(placesFor(ADMINISTRATOR).map(({ to }) => to)).toEqual(all);
  expect(placesFor(CARA).map(({ to }) => to)).toEqual(all.filter((to) => to !== "/cluster"));
  expect(placesFor(undefined).map(({ to }) => to)).not.toContain("/cluster");
  expect(placesFor(NOBODY_YET)).toEqual([]);
  expect(commandsFor("cluster", ADMINISTRATOR).map(({ to }) => to)).toEqual(["/cluster"]);
  expect(commandsFor("cluster", CARA)).toEqual([]);
});

it("says which role a page of the installation needs, and shows nothing of it", async () => {
  answers("get", "/api/session/", CARA);
  await show(<Permitted needs="installation">hosts</Permitted>);
  expect((await screen.findByRole("alert")).textContent).toContain("the role viewer in the whole installation");
  expect(screen.queryByText("hosts")).toBeNull();
});

it("says which role an action needs, in the platform's words", async () => {
  answers("get", "/api/session/", CARA);
  await show(<Permitted needs={{ action: "federations.create_federation" }}>a form</Permitted>);
  expect((await screen.findByRole("alert")).textContent).toContain(ROLE_NEEDED.sentence);
  expect(screen.queryByText("a form")).toBeNull();
});

it("shows what one may see", async () => {
  answers("get", "/api/session/", CARA);
  await show(<Permitted needs={{ action: "fleet.pause_device" }}>a form</Permitted>);
  expect(await screen.findByText("a form")).toBeDefined();
});

it("shows what says itself that it failed, where the session cannot be had", async () => {
  refuses("get", "/api/session/", 500, "internal", "The platform failed at this.");
  await show(<Permitted needs={{ action: "federations.create_federation" }}>a form</Permitted>);
  expect(await screen.findByText("a form")).toBeDefined();
});

it("does not offer to ask again for what the platform refuses", async () => {
  const error = new Problem(NO_ROLE.code, 403, NO_ROLE.sentence, {});
  await show(<Answer of={{ data: undefined, error, refetch: vi.fn() }}>{() => null}</Answer>);
  expect(screen.getByRole("alert").textContent).toContain(NO_ROLE.sentence);
  expect(screen.queryByRole("button", { name: "Try again" })).toBeNull();
});
