import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { Passkeys } from "./Passkeys";

const TABLE = { search: {}, onSearch: () => undefined, onCodes: () => undefined };

it("says where the browser has no passkeys, and registers none", async () => {
  signedIn("accounts.add_passkey");
  answers("get", "/api/session/passkeys/", { count: 0, next: null, previous: null, results: [] });
  answers("post", "/api/session/passkeys/begin/", { public_key: { challenge: "AAAA" } });
  await show(<Passkeys {...TABLE} />);
  const register = await screen.findByRole("button", { name: "Register a passkey" });
  expect(register.getAttribute("aria-disabled")).toBe("true");
  await userEvent.type(screen.getByLabelText("Name of the passkey"), "laptop");
  await waitFor(() => expect(register.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(register);
  expect(await screen.findByText("This browser is too old for passkeys, or the page came without TLS.")).toBeDefined();
});

it("removes one against a code", async () => {
  signedIn("accounts.remove_passkey");
  const laptop = { id: 7, name: "laptop", created_at: "2026-01-01T12:00:00Z", last_used_at: null };
  answers("get", "/api/session/passkeys/", { count: 1, next: null, previous: null, results: [laptop] });
  const sent: unknown[] = [];
  answers("post", "/api/session/passkeys/{id}/remove/", async (request) => {
    sent.push(new URL(request.url).pathname, await request.json());
    return null;
  });
  await show(<Passkeys {...TABLE} />);
  const remove = await screen.findByRole("button", { name: "Remove" });
  await waitFor(() => expect(remove.getAttribute("aria-disabled")).toBe("false"));
  await userEvent.click(remove);
  await userEvent.type(await screen.findByLabelText("Code"), "123456");
  const buttons = await screen.findAllByRole("button", { name: "Remove" });
  await userEvent.click(buttons[buttons.length - 1] as HTMLElement);
  await waitFor(() => expect(sent).toEqual(["/api/session/passkeys/7/remove/", { code: "123456" }]));
});
