// Brings the catalogues up to date with what the console says: new messages with an empty translation, old ones go.
import { join } from "node:path";
import { runnerImport } from "vite";

const { module } = await runnerImport(join(import.meta.dirname, "../language/catalogues.ts"));
for (const language of module.LANGUAGES) {
  module.writeCatalogues(language);
  for (const fault of module.faults(language)) console.log(fault);
}
