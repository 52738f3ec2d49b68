// Keeps the part of the page that changes up to date while somebody looks at it.
const EVERY_MS = 2000;
const now = document.getElementById("now");
const stale = document.getElementById("stale");

async function refresh() {
  if (!document.hidden) {
    try {
      const answer = await fetch(now.dataset.source, { headers: { Accept: "text/html" } });
      if (answer.status === 401) {
        location.assign("/sign-in/");
        return;
      }
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      now.innerHTML = await answer.text();
      stale.hidden = true;
    } catch {
      stale.hidden = false;
    }
  }
  setTimeout(refresh, EVERY_MS);
}

setTimeout(refresh, EVERY_MS);
