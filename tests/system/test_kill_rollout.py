"""Kill the platform in the middle of a canary roll-out: it goes on, counts each report once, and ends once."""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import msgspec
import pytest

from coterie_wire.bundle import Manifest
from coterie_wire.trial import Fit, ReportTrial, TrialFigures
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import payload
from tests.system.scripted_device import ScriptedDevice

DEVICES = 3
RANDOM_KILLS = 3
SAMPLES = 20
BEFORE, BETTER, WORSE = 0.5, 0.75, 0.25
"""Accuracies."""


class Canary:
    """A federation whose first round has published a version, which its devices are to try before it is used."""

    def __init__(self, site: Site, name: str, stack: ExitStack, *, reports: int = DEVICES) -> None:
        self.site = site
        self.pair = site.unused_pair()
        plan = {
            "pace": {"kind": "sync", "target_updates": DEVICES, "min_updates": DEVICES, "over_selection": 1},
            "rollout": {"kind": "canary", "share": 1.0, "reports": reports},
        }
        self.federation = site.operator.start_federation(name, pair=self.pair, plan=plan)
        self._name, self._stack = name, stack
        self._token = site.operator.enrolment_token(tag=name, uses=reports)
        self.devices: list[ScriptedDevice] = []
        for _ in range(DEVICES):
            self.join()
        for device in self.devices:
            device.check_in()
        for number, device in enumerate(self.devices):
            device.deliver(device.assignment(1).assignment, payload(number))
        round_ = site.operator.ended_round(self.federation, 1)
        assert round_["state"] == "published", round_
        self.champion, self.candidate = round_["base_version"], round_["result_version"]

    def join(self) -> ScriptedDevice:
        """One more device."""
        device = ScriptedDevice(self.site.url, self._token, f"{self._name}-{len(self.devices)}")
        self._stack.callback(device.close)
        self.devices.append(device)
        return device

    def rollout(self) -> dict[str, Any]:
        """The only one that there is, with its trials."""
        (found,) = self.site.operator.list("/rollouts/", federation=self.federation)
        return self.site.operator.get(f"/rollouts/{found['id']}/")

    def reaches(self, state: str) -> dict[str, Any]:
        """The roll-out in that state, while every device checks in as it should."""

        def look() -> dict[str, Any] | None:
            for device in self.devices:
                device.check_in()
            rollout = self.rollout()
            return rollout if rollout["state"] == state else None

        return eventually(look)

    def opened_round(self, number: int) -> dict[str, Any]:
        """The round, once its devices are asked."""

        def look() -> dict[str, Any] | None:
            for device in self.devices:
                device.check_in()
            round_ = self.site.operator.round(self.federation, number)
            return round_ if round_ and round_["state"] == "open" else None

        return eventually(look)

    def report(self, device: ScriptedDevice, accuracy: float) -> None:
        """Tell how the candidate does on a device; the answer may be lost, and the report sent again."""
        compared = TrialFigures(samples=SAMPLES, champion=Fit(1.0, BEFORE), candidate=Fit(1.0, accuracy))
        device.call(ReportTrial(rollout=self.rollout()["id"], compared=compared))

    def in_use(self) -> list[str]:
        """The champions of the device model."""
        versions = self.site.operator.list("/versions/", pair=self.pair, role="device")
        return [version["id"] for version in versions if version["champion"]]

    def assert_ended_once(self, state: str, version: str, *, ended: dict[str, Any]) -> None:
        """The roll-out is as it was when it `ended`, its version in use, and everybody is told to hold it."""
        assert self.rollout() == ended
        assert (ended["state"], ended["figures"]["reports"]) == (state, len(self.devices))
        assert all(trial["reported_at"] is not None for trial in ended["trials"])
        assert self.in_use() == [version]
        for device in self.devices:
            directive = device.check_in()
            assert directive.trial is None
            signed = directive.manifest if directive.assignment is None else directive.assignment.manifest
            assert signed is not None
            assert msgspec.json.decode(signed.manifest, type=Manifest).version == version


@pytest.fixture
def new_canary(site: Site) -> Iterator[Callable[..., Canary]]:
    """Makes one, by its name."""
    with ExitStack() as stack:
        yield lambda name, **settings: Canary(site, name, stack, **settings)


@pytest.fixture
def sender() -> Iterator[ThreadPoolExecutor]:
    """Sends what is answered only after a kill."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.mark.long
def test_killed_while_it_is_planned_measured_and_judged(
    new_canary: Callable[..., Canary], site: Site, sender: ThreadPoolExecutor
) -> None:
    canary = new_canary("canary-kill", reports=DEVICES + 1)
    eventually(lambda: canary.rollout()["reason_code"] == "rollouts.needs_devices")
    site.platform.kill_all()
    assert canary.rollout()["state"] == "planned"
    last = canary.join()

    begun = canary.reaches("measuring")
    assert {trial["device"] for trial in begun["trials"]} == {device.id for device in canary.devices}
    first, *others = canary.devices[:-1]
    canary.report(first, BETTER)
    site.platform.kill_all()
    canary.report(first, WORSE)  # told again, and otherwise: the first stands
    measuring = canary.rollout()
    assert (measuring["state"], measuring["begun_at"]) == ("measuring", begun["begun_at"])
    assert [trial["candidate_accuracy"] for trial in measuring["trials"] if trial["reported_at"]] == [BETTER]
    for device in others:
        canary.report(device, BETTER)

    with closing(sqlite3.connect(site.platform.state / "coterie.sqlite3", isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")  # as a backup would: the last report arrives and cannot be written
        sent = sender.submit(canary.report, last, BETTER)
        site.platform.kill_all()
        database.execute("ROLLBACK")
    sent.result()
    ended = canary.reaches("promoted")
    site.platform.kill_all()
    canary.assert_ended_once("promoted", canary.candidate, ended=ended)
    assert canary.opened_round(2)["base_version"] == canary.candidate


@pytest.mark.long
def test_killed_while_a_worse_version_is_measured(new_canary: Callable[..., Canary], site: Site) -> None:
    canary = new_canary("canary-worse")
    canary.reaches("measuring")
    first, *others = canary.devices
    canary.report(first, WORSE)
    site.platform.kill_all()
    for device in others:
        canary.report(device, WORSE)
    ended = canary.reaches("rolled_back")
    site.platform.kill_all()
    canary.assert_ended_once("rolled_back", canary.champion, ended=ended)


@pytest.mark.long
def test_killed_at_random_moments(new_canary: Callable[..., Canary], site: Site, sender: ThreadPoolExecutor) -> None:
    moments = random.Random(11)
    canary = new_canary("canary-random")

    def try_it() -> dict[str, Any]:
        canary.reaches("measuring")
        for device in canary.devices:
            canary.report(device, BETTER)
        return canary.reaches("promoted")

    tried = sender.submit(try_it)
    for _ in range(RANDOM_KILLS):
        time.sleep(moments.uniform(0, 0.5))  # waits for nothing: any moment is as good
        site.platform.kill_server()
    canary.assert_ended_once("promoted", canary.candidate, ended=tried.result())
