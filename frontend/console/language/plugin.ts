import type { Plugin } from "vite";
import { inLanguage, isShown, type Language, SOURCES } from "./catalogues.ts";

/** Builds the console in a language: each message in its sources is replaced by its translation. */
export function language(language: Language): Plugin {
  return {
    name: "language",
    enforce: "pre",
    transform(code, id) {
      const [path] = id.split("?") as [string];
      return path.startsWith(SOURCES) && isShown(path) ? { code: inLanguage(path, code, language), map: null } : null;
    },
    transformIndexHtml: (html) => html.replace('<html lang="en">', `<html lang="${language}">`),
  };
}
