import { expect, it, vi } from "vitest";
import { api } from "./client";
import { commandOf } from "./curl";

it("writes the request as a command and sends nothing", async () => {
  const sent = vi.spyOn(globalThis, "fetch");
  const command = await commandOf((via) =>
    api.POST("/api/tokens/", { body: { name: "it's mine" }, baseUrl: "http://127.0.0.1:8000", ...via }),
  );
  expect(command).toContain(`-X POST`);
  expect(command).toContain(`--data '{"name":"it'\\''s mine"}'`);
  expect(command).toContain(`'http://127.0.0.1:8000/api/tokens/'`);
  expect(command).not.toContain("csrf");
  expect(sent).not.toHaveBeenCalled();
});
