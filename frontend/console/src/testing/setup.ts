import { cleanup } from "@testing-library/react";
import { afterAll, afterEach } from "vitest";
import { platform } from "./mock";

// Before any module takes hold of `fetch`.
platform.listen({ onUnhandledRequest: "error" });

afterEach(() => {
  cleanup();
  platform.resetHandlers();
});

afterAll(() => platform.close());
