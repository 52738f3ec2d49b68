/** Something that is said beside the page for a while. */
export interface Notice {
  readonly id: number;
  readonly title?: string;
  readonly message: string;
  /** What did not work stays until somebody closes it. */
  readonly failed: boolean;
}

const MOST = 5;

let shown: readonly Notice[] = [];
let count = 0;
const heard = new Set<() => void>();

function become(next: readonly Notice[]): void {
  shown = next;
  for (const hear of heard) hear();
}

/** Say that something was done; with a title, that it was not. */
export function tell(message: string, title?: string): void {
  count += 1;
  const notice = { id: count, message, failed: title !== undefined, ...(title !== undefined && { title }) };
  become([...shown, notice].slice(-MOST));
}

export function forget(id: number): void {
  become(shown.filter((notice) => notice.id !== id));
}

/** As `useSyncExternalStore` wants it. */
export const notices = {
  subscribe(hear: () => void): () => void {
    heard.add(hear);
    return () => heard.delete(hear);
  },
  now: () => shown,
};
