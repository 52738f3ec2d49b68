"""A process that ends at a statement of the database, whichever it is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from django.db import connection


class Killed(BaseException):
    """The process ends."""


@contextmanager
def killed_at(statement: int) -> Iterator[None]:
    """The process ends at this statement of the database; what was not committed is gone."""
    seen = count()

    def wrapper(execute: Callable[..., object], *arguments: object) -> object:
        if next(seen) == statement:
            raise Killed
        return execute(*arguments)

    with connection.execute_wrapper(wrapper):
        yield
