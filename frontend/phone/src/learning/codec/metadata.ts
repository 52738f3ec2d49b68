/** What a payload says of itself: its codec with all settings, in the text that the platform compares. */

/** A number that may be any, of which the platform writes whole ones with a place after the point. */
export class Real {
  constructor(readonly number: number) {}
}

/** `settings` begin with the kind, and follow the order of the platform's fields. */
export function metadataOf(settings: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const fields = Object.entries(settings).map(([name, setting]) => `${JSON.stringify(name)}:${textOf(setting)}`);
  return new Map([["codec", `{${fields.join(",")}}`]]);
}

function textOf(setting: unknown): string {
  if (!(setting instanceof Real)) return JSON.stringify(setting);
  return Number.isInteger(setting.number) ? `${setting.number}.0` : `${setting.number}`;
}
