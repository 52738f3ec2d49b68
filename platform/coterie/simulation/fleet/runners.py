"""The runners by their names in commands."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from coterie.core.login import Login
from coterie.simulation.fleet.on_ray import OnRay
from coterie.simulation.fleet.runner import HERE, Runner

On = Literal["here", "platform", "ray"]
RUNNERS: tuple[On, ...] = get_args(On)


@contextmanager
def runner_on(on: On, login: Callable[[], Login]) -> Iterator[Runner]:
    """The runner named `on`; `login` is the platform, where that is meant."""
    if on == "platform":
        from coterie.simulation.fleet.on_platform import OnPlatform, client_of  # only now: HTTP is a tenth of a start

        with client_of(login()) as http:
            yield OnPlatform(http, say=_say)
    else:
        yield OnRay() if on == "ray" else HERE


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
