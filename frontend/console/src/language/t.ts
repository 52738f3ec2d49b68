/**
 * Marks a text that people read where the build would not look for one, such as "return t`${many} devices`".
 *
 * In English it is what is written; the build of another language puts the translation in its place, see
 * language/README.md.
 */
export function t(strings: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return strings.reduce((text, string, place) => `${text}${values[place - 1]}${string}`);
}
