// Builds the console in English, and in each other language beside it.
import { join } from "node:path";
import { build, runnerImport } from "vite";

process.env.NODE_ENV = "production"; // which an import by the runner would set to "development"
const { module } = await runnerImport(join(import.meta.dirname, "../language/catalogues.ts"));
for (const language of ["en", ...module.LANGUAGES]) {
  process.env.CONSOLE_LANGUAGE = language;
  await build();
}
