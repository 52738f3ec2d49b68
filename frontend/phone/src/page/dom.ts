/** Elements in one line each; texts are always text, never HTML. */
type Child = Node | string | null;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  Object.assign(made, attributes);
  made.append(...children.filter((child) => child !== null));
  return made;
}

export const section = (title: string, ...children: Child[]): HTMLElement =>
  el("section", {}, el("h2", {}, title), ...children);

export const list = (items: readonly Child[]): HTMLElement => el("ul", {}, ...items.map((item) => el("li", {}, item)));
