/** The page of a device that has not joined: who asks, what is learned, what leaves, how to stop. */
import { SCOPES, scopesOf } from "../device/consent";
import { Refused, reasonOf } from "../device/failure";
import type { Agreeing, Joining } from "../protocol";
import { el, list, section } from "./dom";
import { drawnCredential } from "./drawn_credential";
import { conditionsOf, helpOf, type Invitation, privacyOf, readInvitation } from "./invitation";

type Join = (joining: Joining) => void;

/** `name` is what the device is called unless the owner types another. */
export async function joiningPage(token: string | null, name: string, join: Join): Promise<HTMLElement[]> {
  if (token === null) {
    return [
      el("h1", {}, "This device has not joined"),
      el("p", {}, "Open the link, or scan the code, that you got from whoever runs this platform."),
    ];
  }
  const drawn = drawnCredential(token);
  let invitation: Invitation;
  try {
    invitation = await readInvitation(token, drawn);
  } catch (error) {
    const { sentence, code } = reasonOf(error);
    const title = error instanceof Refused ? "This link lets nobody join" : "The platform does not answer";
    return [
      el("h1", {}, title),
      el("p", { role: "alert", className: "bad" }, sentence),
      el("p", { className: "quiet" }, code),
    ];
  }
  const told = [el("h1", {}, `${location.host} asks your device to learn with others`), ...asked(invitation)];
  return [...told, form(name, (given) => join({ token, drawn, name: given, agreed: agreedTo(invitation, told) }))];
}

/** By joining, the owner agrees to what he was `told`. */
function agreedTo({ learned }: Invitation, told: readonly HTMLElement[]): Agreeing {
  const all = learned.flatMap(({ privacy, help }) => scopesOf(privacy, help));
  // biome-ignore lint/performance/useDomNodeTextContent: what the page shows, line by line, is what was read
  const read = told.map(({ innerText }) => innerText).join("\n\n");
  return { scopes: SCOPES.filter((one) => all.includes(one)), read };
}

function asked({ learned }: Invitation): HTMLElement[] {
  const what =
    learned.length === 0
      ? [
          el(
            "p",
            {},
            "Nothing yet: whoever runs the platform has not started anything for devices like yours. You are asked again then.",
          ),
        ]
      : learned.map(({ name, labels, requirements, privacy, help }) =>
          el(
            "div",
            {},
            el("p", {}, el("strong", {}, name), labels.length > 0 ? `: to tell apart ${labels.join(", ")}.` : "."),
            el("p", {}, `It trains ${conditionsOf(requirements)}.`),
            ...[privacyOf(privacy), helpOf(help)].map((told) => (told === null ? null : el("p", {}, told))),
          ),
        );
  return [
    section("What is learned", ...what),
    section(
      "What leaves your device",
      list([
        "how a model's numbers changed when your device trained it on your samples",
        "how many samples of each class you have, and how well the model does on them",
        ...(learned.some(({ help }) => help !== "none") ? ["parts of its model, for devices that ask for help"] : []),
        "whether the device is charging and its kind of network, the number of its processor cores, and the name below",
      ]),
      el(
        "p",
        {},
        "Your samples never leave: they stay in this browser. You can read later what was sent, word by word. Where more " +
          "is asked of your device one day, you are asked first.",
      ),
    ),
    section(
      "How to stop",
      el(
        "p",
        {},
        "Close this page and it stops at once. “Pause” and “Leave” are on the page that you see after joining.",
      ),
    ),
  ];
}

function form(called: string, join: (name: string) => void): HTMLElement {
  const name = el("input", { type: "text", id: "name", maxLength: 100, required: true, value: called });
  const button = el("button", { type: "submit", className: "main" }, "Join");
  const made = el(
    "form",
    {},
    el("label", { htmlFor: "name" }, "What your device is called there"),
    name,
    el("p"),
    button,
  );
  name.addEventListener("input", () => name.setCustomValidity(""));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = name.value.trim();
    if (given === "") {
      name.setCustomValidity("Give your device a name.");
      name.reportValidity();
      return;
    }
    button.disabled = true;
    join(given);
  });
  return made;
}
