"""Counting in the cache, which may be cleared or replaced between any two steps."""

from django.core.cache import cache


def count_up(key: str, *, within_s: int) -> int:
    """Increment the counter `key`; returns the count since its first increment, at most `within_s` seconds ago."""
    cache.add(key, 0, within_s)
    try:
        return int(cache.incr(key))
    except ValueError:
        cache.set(key, 1, within_s)
        return 1
