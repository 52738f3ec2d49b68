"""The cache that processes share, and this process's own while Redis is away."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

from coterie.core.away import AWAY, REDIS

T = TypeVar("T")
Given: TypeAlias = Any
"""Any: values and options as Django declares them."""


class SharedCache(RedisCache):
    """Where Redis does not answer, values are stored within the process, and `AWAY` is set."""

    def __init__(self, server: str, params: dict[str, Given]) -> None:
        super().__init__(server, params)
        self._own = LocMemCache("while-redis-is-away", {"OPTIONS": {"MAX_ENTRIES": 10_000}})

    def add(self, key: str, value: Given, *args: Given, **kwargs: Given) -> bool:
        """Set a value if there is none yet; returns whether it was set."""
        return self._either(
            lambda: super(SharedCache, self).add(key, value, *args, **kwargs),
            lambda: self._own.add(key, value, *args, **kwargs),
        )

    def get(self, key: str, *args: Given, **kwargs: Given) -> Given:
        """A value."""
        return self._either(
            lambda: super(SharedCache, self).get(key, *args, **kwargs), lambda: self._own.get(key, *args, **kwargs)
        )

    def set(self, key: str, value: Given, *args: Given, **kwargs: Given) -> None:
        """Set a value."""
        self._either(
            lambda: super(SharedCache, self).set(key, value, *args, **kwargs),
            lambda: self._own.set(key, value, *args, **kwargs),
        )

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Increment. Raises ValueError where there is no value."""
        return self._either(
            lambda: super(SharedCache, self).incr(key, delta, version), lambda: self._own.incr(key, delta, version)
        )

    def delete(self, key: str, version: int | None = None) -> bool:
        """Delete a value; returns whether there was one."""
        return self._either(
            lambda: super(SharedCache, self).delete(key, version), lambda: self._own.delete(key, version)
        )

    def _either(self, shared: Callable[[], T], own: Callable[[], T]) -> T:
        if AWAY.should_try(REDIS):
            try:
                found = shared()
            except RedisError:
                AWAY.record_failure(REDIS)
            else:
                AWAY.record_answer(REDIS)
                return found
        return own()
