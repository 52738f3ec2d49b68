"""How a command fails: one sentence with a code on standard error, never a traceback for what people can act on."""

import sqlite3
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import click
import msgspec

from coterie.core.errors import CoterieError
from coterie_wire.errors import WireError

P = ParamSpec("P")
R = TypeVar("R")


class Failed(click.ClickException):
    """What went wrong, and what to do about it; the process ends with status 1."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        super().__init__(f"{sentence} [{code}]")


def failures_shown(command: Callable[P, R]) -> Callable[P, R]:
    """`command`, with the errors that people can act on raised as `Failed`."""

    @wraps(command)
    def telling(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (CoterieError, WireError) as error:
            raise Failed(error.code, str(error)) from error
        except msgspec.ValidationError as error:
            raise Failed("cli.environment", f"The environment does not fit: {error}.") from error
        except sqlite3.Error as error:
            raise Failed("cli.state_unreadable", f"The state cannot be read: {error}.") from error

    return telling
