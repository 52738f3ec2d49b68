// The page of a device that was forgotten: it asks the agent on this device, which asks the platform.
import { $, ask, say } from "./page.js";
import { forgottenParts } from "./receipt.js";

const LOOK_MS = 30_000;

async function look() {
  try {
    const news = await ask("GET", "/receipt");
    $("receipt").replaceChildren(...forgottenParts(news));
    $("forgotten").hidden = false;
    say(news.done ? "It is done." : "It is not done yet; this page asks again.");
    if (!news.done) setTimeout(look, LOOK_MS);
  } catch (error) {
    say(error.message);
    setTimeout(look, LOOK_MS);
  }
}

await look();
