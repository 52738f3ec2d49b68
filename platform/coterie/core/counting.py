"""Counting in the cache, which may be cleared, or changed for another, between any two steps."""

from django.core.cache import cache


def count_up(key: str, *, within_s: int) -> int:
    """One more of what `key` names; how many there were since the first, at most `within_s` seconds ago."""
    cache.add(key, 0, within_s)
    try:
        return int(cache.incr(key))
    except ValueError:
        cache.set(key, 1, within_s)
        return 1
