/** Three devices that are peers. */
export function Mark({ size = 20 }: { size?: number }) {
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} aria-hidden="true">
      <g fill="var(--good)">
        <circle cx="8" cy="3.4" r="2.6" />
        <circle cx="3.4" cy="11.2" r="2.6" />
        <circle cx="12.6" cy="11.2" r="2.6" />
      </g>
    </svg>
  );
}
