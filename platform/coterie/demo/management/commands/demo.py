"""``coterie demo``: a fleet that learns, live, on this machine."""

import signal
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import msgspec
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console

from coterie.config.exclusive import bind
from coterie.core.errors import CoterieError
from coterie.demo.chromium import BrowserFailed, Chromium, find_chromium
from coterie.demo.screen import Screen
from coterie.recipes.shipped import checked_recipe
from coterie_recipes import Recipe

Phone = Literal["auto", "browser", "none"]


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
        parser.add_argument(
            "--phone",
            choices=get_args(Phone),
            default="auto",
            help="whether one more device trains in a headless browser, as a phone does; auto: where Chromium is",
        )
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
        phone: Phone,
        **_: object,
    ) -> None:
        """Play the demo. Raises CommandError with what went wrong."""
        _check(devices=devices, rounds=rounds, seed=seed, port=port)
        if recipe is None and find_spec("sklearn") is None:
            raise CommandError("the demo's digits come with scikit-learn: pip install 'coterie[demo]'")
        # Only now: these need the demo's own dependencies.
        from coterie.demo.api import ApiFailed
        from coterie.demo.devices import AgentFailed
        from coterie.demo.digits_demo import DigitsDemo
        from coterie.demo.recipe_demo import RecipeDemo
        from coterie.demo.server import ServerFailed
        from coterie.demo.two_parties import NAME, AllianceDemo

        if recipe is not None and phone == "browser":
            raise CommandError("a phone in a browser takes part in the demo of digits; leave --recipe or --phone out")
        screen = Screen(Console(), rounds_wanted=rounds, holds="digits it sees" if recipe is None else "what it has")
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            with ExitStack() as stack:
                if recipe is None:
                    browser = _start_browser(phone, screen)
                    demo: DigitsDemo | RecipeDemo | AllianceDemo = DigitsDemo(
                        state=settings.STATE,
                        port=port,
                        devices=devices,
                        rounds=rounds,
                        seed=seed,
                        screen=screen,
                        browser=None if browser is None else stack.enter_context(browser),
                    )
                elif recipe == NAME:
                    demo = AllianceDemo(state=settings.STATE, port=port, seed=seed, screen=screen)
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
                stack.enter_context(screen)
                with demo.run() as outcome:
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
        except (ApiFailed, AgentFailed, BrowserFailed, ServerFailed) as error:
            raise CommandError(str(error)) from error


def _start_browser(phone: Phone, screen: Screen) -> Chromium | None:
    """A browser for the phone; None where there shall be none or, unless it is asked for, can be none, which is told.

    Raises CommandError.
    """
    if phone == "none":
        return None
    try:
        return _browser()
    except BrowserFailed as error:
        if phone == "browser":
            raise CommandError(f"no phone can take part: {error}") from error
        screen.say(f"Agents alone take part, no phone in a browser: {error}")
        return None


def _browser() -> Chromium:
    program = find_chromium()
    if program is None:
        raise BrowserFailed("Chromium is not installed")
    if not settings.PHONE_PAGE.exists():
        raise BrowserFailed("its page is not built; `make phone` builds it, with Node 20 or newer")
    return Chromium(program, profile=settings.STATE / "browser")


def _recipe(name: str) -> Recipe:
    try:
        return checked_recipe(name)
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
