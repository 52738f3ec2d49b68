// Keeps the page and what it is made of for when there is no network. It never answers for the platform: whatever the
// device sends or asks goes to the network. A new one waits until no page of the old one is open.
const BUILD = "__BUILD__";
const FILES = __FILES__;

addEventListener("install", (event) => {
  event.waitUntil(caches.open(BUILD).then((cache) => cache.addAll(["/phone/", ...FILES])));
});

addEventListener("activate", (event) => {
  const drop = async () => {
    for (const name of await caches.keys()) if (name !== BUILD) await caches.delete(name);
  };
  event.waitUntil(drop());
});

addEventListener("fetch", (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (origin !== location.origin || event.request.method !== "GET") return;
  if (pathname === "/phone/") event.respondWith(newest(event.request));
  else if (FILES.includes(pathname)) event.respondWith(kept(event.request));
});

// The page names the build that fits the platform, so the network's is taken where there is one.
async function newest(request) {
  try {
    return await fetch(request);
  } catch {
    return (await caches.match("/phone/")) ?? Response.error();
  }
}

async function kept(request) {
  return (await caches.match(request)) ?? fetch(request);
}
