/** Whether a local hour is in [from, to); from > to spans midnight, and from an hour to itself is all day. */
export function isWithin([start, end]: readonly [number, number], hour: number): boolean {
  if (start <= end) return (start <= hour && hour < end) || start === end;
  return hour >= start || hour < end;
}
