// Runs before the page's own scripts and keeps what the browser measures: see Event Timing and Largest Contentful Paint.
{
  const interactions = new Map();
  const input = { at: 0 };
  const paint = { largest: 0 };

  const keep = (list) => {
    for (const { interactionId, duration } of list.getEntries()) {
      // An interaction is several events, say pointerdown, pointerup and click; it took as long as the slowest.
      if (interactionId) interactions.set(interactionId, Math.max(duration, interactions.get(interactionId) ?? 0));
    }
  };
  const events = new PerformanceObserver(keep);
  events.observe({ type: "event", durationThreshold: 16, buffered: true });
  const first = new PerformanceObserver(keep);
  first.observe({ type: "first-input", buffered: true });
  new PerformanceObserver((list) => {
    paint.largest = list.getEntries().at(-1).startTime;
  }).observe({ type: "largest-contentful-paint", buffered: true });
  for (const type of ["click", "keydown"]) {
    addEventListener(type, (event) => { input.at = event.timeStamp; }, { capture: true });
  }

  const afterPaint = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

  globalThis.watch = {
    /** Milliseconds from the navigation to the first and to the largest paint of content. */
    paints: () => [performance.getEntriesByName("first-contentful-paint")[0].startTime, paint.largest],

    /** Watch `selector` from now on: it changes when what `told` makes of it does, and it is not busy any more. */
    arm(selector, told) {
      const place = document.querySelector(selector);
      const state = () => told(place);
      const before = state();
      performance.clearResourceTimings();
      interactions.clear();
      input.at = 0;
      this.change = new Promise((resolve) => {
        const look = async () => {
          if (place.getAttribute("aria-busy") === "true" || state() === before) return;
          observer.disconnect();
          await afterPaint();
          resolve(performance.now() - input.at);
        };
        const observer = new MutationObserver(look);
        observer.observe(place, { subtree: true, childList: true, characterData: true, attributes: true });
      });
    },

    /** Once it has changed: milliseconds of the slowest interaction, until the change was painted, of the answer. */
    async changed() {
      const shown = await this.change;
      await new Promise((resolve) => setTimeout(resolve, 100)); // an event's timing is told after its paint
      keep({ getEntries: () => [...events.takeRecords(), ...first.takeRecords()] });
      const answers = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/api/devices/?"));
      return [Math.max(0, ...interactions.values()), shown, answers.at(-1)?.duration ?? 0];
    },
  };
}
