import { cleanup, configure } from "@testing-library/react";
import { afterAll, afterEach } from "vitest";
import { platform } from "./mock";

// The gate runs beside browsers on two cores.
configure({ asyncUtilTimeout: 20_000 });

// Before any module takes hold of `fetch`.
platform.listen({ onUnhandledRequest: "error" });

afterEach(() => {
  cleanup();
  platform.resetHandlers();
});

afterAll(() => platform.close());
