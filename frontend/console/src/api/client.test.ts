import { afterEach, expect, it, vi } from "vitest";
import { fallsSilent, refuses } from "../testing/mock";
import { api } from "./client";
import { isProblem } from "./problem";

afterEach(() => vi.restoreAllMocks());

it("leads to signing in, and back, when the session has ended", async () => {
  refuses("get", "/api/jobs/", 401, "accounts.not_signed_in", "Sign in first.");
  window.history.replaceState(null, "", "/jobs?q=digits");
  const assign = vi.spyOn(window.location, "assign").mockImplementation(() => undefined);
  await expect(api.GET("/api/jobs/")).rejects.toMatchObject({ code: "accounts.not_signed_in", status: 401 });
  expect(assign).toHaveBeenCalledWith("/sign-in/?next=%2Fjobs%3Fq%3Ddigits");
});

it("throws a refusal as what the platform says, and leads nowhere", async () => {
  refuses("get", "/api/jobs/", 400, "request.invalid", "sort: 'x' is none of created_at");
  const assign = vi.spyOn(window.location, "assign").mockImplementation(() => undefined);
  await expect(api.GET("/api/jobs/")).rejects.toMatchObject({ detail: "sort: 'x' is none of created_at" });
  expect(assign).not.toHaveBeenCalled();
});

it("tells a lost connection from a refusal", async () => {
  fallsSilent("get", "/api/jobs/");
  const error = await api.GET("/api/jobs/").catch((error: unknown) => error);
  expect(error).toBeInstanceOf(Error);
  expect(isProblem(error)).toBe(false);
});
