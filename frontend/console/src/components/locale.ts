import { chosenLanguage } from "../language/language";

/** How dates and numbers are written for who sits here: by default as the browser's language and time zone have it. */
export interface Writing {
  /** A BCP 47 tag, such as "de-CH"; undefined: that of the language. */
  readonly locale?: string;
  /** An IANA name, such as "UTC"; undefined: the browser's zone. */
  readonly zone?: string;
  /** Moments are written out, instead of how long ago they were. */
  readonly exact?: true;
}

const KEY = "coterie.writing";

/** What was chosen in this browser. What is kept there and does not fit is left out. */
export function chosenWriting(): Writing {
  try {
    return checked(JSON.parse(localStorage.getItem(KEY) ?? "{}"));
  } catch {
    return {};
  }
}

function checked(raw: Readonly<Record<string, unknown>>): Writing {
  const kept: { -readonly [Name in keyof Writing]: Writing[Name] } = {};
  if (typeof raw.locale === "string" && isLocale(raw.locale)) kept.locale = raw.locale;
  if (typeof raw.zone === "string" && isZone(raw.zone)) kept.zone = raw.zone;
  if (raw.exact === true) kept.exact = true;
  return kept;
}

/** Write so from the next load of a page on. */
export function chooseWriting(writing: Writing): void {
  localStorage.setItem(KEY, JSON.stringify(writing));
}

function isLocale(tag: string): boolean {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag).length > 0;
  } catch {
    return false;
  }
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** How numbers and dates are written where no locale was chosen: as the browser has it, unless another language was. */
export function localeOf(language: string | null): string {
  return language === null || navigator.language.split("-")[0] === language ? navigator.language : language;
}

const WRITING = chosenWriting();
const LOCALE = WRITING.locale ?? localeOf(chosenLanguage());
/** Undefined: the browser's. */
export const ZONE = WRITING.zone;
export const EXACT = WRITING.exact === true;

/** A format of numbers as they are written here. */
export function numbers(options: Intl.NumberFormatOptions = {}): Intl.NumberFormat {
  return new Intl.NumberFormat(LOCALE, options);
}

/** A format of moments as they are written here. */
export function dates(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(LOCALE, { ...options, ...(ZONE !== undefined && { timeZone: ZONE }) });
}

const CLOCK = dates({ timeStyle: "medium", hourCycle: "h23" });
const MOMENT = dates({ dateStyle: "medium", timeStyle: "medium" });

/** The time of day: "14:03:07". */
export function clock(at: string | number | Date): string {
  return CLOCK.format(new Date(at));
}

/** A moment in full. */
export function moment(at: string | number | Date): string {
  return MOMENT.format(new Date(at));
}
