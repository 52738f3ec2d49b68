import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show } from "../testing/show";
import { type Issued, Ticket } from "./Ticket";

const TOKEN = { id: 7, label: "hall displays", secret: "coe_x" } as Issued;

it("shows the devices that join with the token, as they do", async () => {
  let names: string[] = [];
  answers("get", "/api/devices/", (request) => {
    expect(new URL(request.url).searchParams.get("enrolled_with")).toBe("7");
    const results = names.map((name) => ({
      id: name,
      name,
      status: "never_seen",
      enrolled_at: "2026-01-01T00:00:00Z",
    }));
    return { count: results.length, next: null, previous: null, results: results as never };
  });
  const { queries } = await show(<Ticket token={TOKEN} />);
  expect(await screen.findByText(/Nobody has joined with it yet/)).toBeDefined();
  expect(screen.getByText(/coterie-agent join \S+ coe_x/)).toBeDefined();
  const link = screen.getByRole("link", { name: /On a phone/ }).getAttribute("href");
  expect(link).toBe(`${window.location.origin}/phone/#join=coe_x`);
  names = ["hall-1"];
  await queries.invalidateQueries({ queryKey: ["devices"] });
  expect(await screen.findByText("1 device has joined")).toBeDefined();
  expect(screen.getByRole("link", { name: "hall-1" }).getAttribute("href")).toBe("/devices/hall-1");
});
