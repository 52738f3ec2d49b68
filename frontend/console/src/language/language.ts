import names from "../../language/languages.json" with { type: "json" };

/** The language that this build of the console is in. */
export const LANGUAGE = document.documentElement.lang || "en";

/** Those that one may choose, each by its own name. */
export const LANGUAGES = Object.entries(names).map(([value, label]) => ({ value, label }));

const COOKIE = "django_language";
const A_YEAR_S = 365 * 86_400;

/** What was chosen in this browser; null: what it asks for. */
export function chosenLanguage(): string | null {
  return new RegExp(`(?:^|; )${COOKIE}=(\\w+)`).exec(document.cookie)?.[1] ?? null;
}

/** Read in that language from the next load of a page on. */
export function chooseLanguage(language: string | null): void {
  const kept = language === null ? "max-age=0" : `max-age=${A_YEAR_S}`;
  // biome-ignore lint/suspicious/noDocumentCookie: browsers without the Cookie Store API are in use
  document.cookie = `${COOKIE}=${language ?? ""}; path=/; ${kept}; samesite=lax`;
}
