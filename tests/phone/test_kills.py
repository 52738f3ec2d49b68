"""Whatever is killed of a phone and its platform, no update is lost or counted twice."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from coterie.config.settings import PHONE_PAGE
from tests.phone.killing import VICTIMS, kill_at_random
from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform, prepare_state

pytestmark = pytest.mark.phone


def test_nothing_is_lost_or_doubled(chromium: Browser, tmp_path: Path, migrated: Path) -> None:
    assert PHONE_PAGE.exists(), "build the phone's page first: make phone"
    seeded = prepare_state(tmp_path / "prepared", pairs=1, tables=migrated, state=str(tmp_path / "state"))
    platform = Platform(tmp_path / "state")
    platform.start()
    try:
        with OperatorClient(platform.url, seeded.token) as operator:
            (pair,) = seeded.pairs
            seen = kill_at_random(
                chromium.browser_type, platform, operator, pair=pair, directory=tmp_path, kills=VICTIMS, seed=1
            )
    finally:
        platform.stop()
    assert (seen.lost, seen.doubled) == (0, 0), seen
    assert min(seen.rounds, seen.accepted) >= 2, seen
