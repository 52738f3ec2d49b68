"""A phone in headless Chromium whose browser, tabs and platform are killed at random: what is lost or counted twice."""

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import sync_playwright

from coterie.config.settings import PHONE_PAGE
from tests.benchmarks.report import Figure
from tests.phone.killing import VICTIMS, Victim, kill_at_random
from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform, prepare_state

KILLS, SEED = 50, 11


def measure() -> Sequence[Figure]:
    """Ten minutes, more where the machine is busy."""
    assert PHONE_PAGE.exists(), "build the phone's page first: make phone"
    drawn = random.Random(SEED)
    kills: list[Victim] = [drawn.choice(VICTIMS) for _ in range(KILLS)]
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        seeded = prepare_state(folder / "prepared", pairs=1, state=str(folder / "state"))
        platform = Platform(folder / "state")
        platform.start()
        try:
            with OperatorClient(platform.url, seeded.token) as operator, sync_playwright() as playwright:
                seen = kill_at_random(
                    playwright.chromium,
                    platform,
                    operator,
                    pair=seeded.pairs[0],
                    directory=folder,
                    kills=kills,
                    seed=SEED,
                    tell=lambda line: print(line, file=sys.stderr, flush=True),
                )
        finally:
            platform.stop()
    case = f"{KILLS} random kills"
    return [
        *(Figure(case, f"of the {victim}", seen.killed[victim], "kills") for victim in VICTIMS),
        Figure(case, "versions published meanwhile", seen.rounds, "versions"),
        Figure(case, "updates that the phone knows to be accepted", seen.accepted, "updates"),
        Figure(case, "lost", seen.lost, "updates", "target = 0"),
        Figure(case, "counted twice", seen.doubled, "updates", "target = 0"),
    ]
