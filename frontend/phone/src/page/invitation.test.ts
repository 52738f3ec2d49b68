import { expect, test } from "vitest";
import { HELP } from "../learning/help";
import { PRIVACY } from "../learning/privacy";
import { helpOf, privacyOf } from "./invitation";

test("an invitation says of each kind of privacy and of help that the phone has what it means", () => {
  for (const name of PRIVACY.names) expect(privacyOf(name)).not.toContain("cannot take part");
  for (const name of HELP.names.filter((one) => one !== "none")) {
    expect(helpOf(name)).toContain("a part of that model may go to a device that asks for help");
  }
  expect(helpOf("none")).toBeNull();
  for (const told of [privacyOf("of later"), helpOf("of later")]) expect(told).toContain("cannot take part");
});
