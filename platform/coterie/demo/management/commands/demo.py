"""``coterie demo``: a fleet that learns, live, on this machine."""

import signal
from importlib.util import find_spec
from pathlib import Path

import msgspec
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console

from coterie.config.exclusive import bind
from coterie.core.errors import CoterieError
from coterie.demo.screen import Screen
from coterie.recipes.shipped import known_recipe
from coterie_recipes import Recipe


class Command(BaseCommand):
    """Runs a fleet that learns."""

    help = (
        "Start a platform and a fleet of real agents on this machine, let them learn to read handwritten digits from "
        "data that none of them gives away, and compare. Needs no network and leaves nothing behind."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """The size of the fleet and what to do at the end."""
        parser.add_argument("--recipe", metavar="NAME", help="another task than digits: see coterie recipe")
        parser.add_argument("--devices", type=int, default=8, metavar="N", help="agents (default: %(default)s)")
        parser.add_argument("--rounds", type=int, default=10, metavar="N", help="rounds (default: %(default)s)")
        parser.add_argument("--seed", type=int, default=0, metavar="S", help="deals data and events (default: 0)")
        parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: %(default)s)")
        parser.add_argument("--exit", action="store_true", help="end after the table instead of serving on")
        parser.add_argument("--report", type=Path, metavar="FILE", help="write the outcome as JSON")
        parser.epilog = "--state DIR, which every command takes, keeps everything in DIR, which must be new."

    def handle(
        self,
        *,
        recipe: str | None,
        devices: int,
        rounds: int,
        seed: int,
        port: int,
        exit: bool,
        report: Path | None,
        **_: object,
    ) -> None:
        """Play the demo. Raises CommandError with what went wrong."""
        _check(devices=devices, rounds=rounds, seed=seed, port=port)
        if recipe is None and find_spec("sklearn") is None:
            raise CommandError("the demo's digits come with scikit-learn: pip install 'coterie[demo]'")
        # Only now: these need the demo's own dependencies.
        from coterie.demo.api import ApiFailed
        from coterie.demo.devices import AgentFailed
        from coterie.demo.recipe_story import RecipeDemo
        from coterie.demo.server import ServerFailed
        from coterie.demo.story import Demo

        screen = Screen(Console(), rounds_wanted=rounds, holds="digits it sees" if recipe is None else "what it has")
        if recipe is None:
            demo: Demo | RecipeDemo = Demo(
                state=settings.STATE, port=port, devices=devices, rounds=rounds, seed=seed, screen=screen
            )
        else:
            demo = RecipeDemo(
                recipe=_recipe(recipe),
                state=settings.STATE,
                port=port,
                devices=devices,
                rounds=rounds,
                seed=seed,
                screen=screen,
            )
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            with screen, demo.run() as outcome:
                screen.rest()
                screen.console.print(outcome.table())
                if report is not None:
                    report.parent.mkdir(parents=True, exist_ok=True)
                    report.write_bytes(msgspec.json.format(msgspec.json.encode(outcome), indent=2) + b"\n")
                if not exit:
                    screen.say("The platform and the fleet go on; Ctrl-C ends them")
                    signal.pause()
        except KeyboardInterrupt:
            screen.say("Ended")
        except (ApiFailed, AgentFailed, ServerFailed) as error:
            raise CommandError(str(error)) from error


def _recipe(name: str) -> Recipe:
    try:
        return known_recipe(name)
    except CoterieError as error:
        raise CommandError(f"{error} [{error.code}]") from error


def _check(*, devices: int, rounds: int, seed: int, port: int) -> None:
    if not 1 <= devices <= 100:
        raise CommandError("--devices goes from 1 to 100")
    if not 1 <= rounds <= 1000:
        raise CommandError("--rounds goes from 1 to 1000")
    if seed < 0:
        raise CommandError("--seed must not be negative")
    if (settings.STATE / "coterie.sqlite3").exists():
        raise CommandError(f"{settings.STATE} holds a platform already; the demo wants a directory of its own")
    try:
        bind("127.0.0.1", port).close()
    except OSError as error:
        raise CommandError(f"cannot listen on 127.0.0.1:{port}: {error.strerror}; choose another --port") from error


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt
