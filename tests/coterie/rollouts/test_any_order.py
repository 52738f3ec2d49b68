"""Whatever happens in whatever order: a roll-out ends once, and only a promotion changes what is in use."""

from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.core.errors import CoterieError
from coterie.federations.services import finish_federation
from coterie.fleet.services import leave_fleet, pin_device
from coterie.registry.services import move_champion
from coterie.rollouts import device_api
from coterie.rollouts.models import Rollout
from coterie.rollouts.services import cancel_rollout, promote_rollout, start_rollout
from coterie.rounds.advancing import sweep
from coterie_wire.conditions import Reason
from coterie_wire.trial import ReportTrial
from tests.coterie.rollouts.world import TERMS, World, comparison, follow
from tests.coterie.world import START, ScriptedDevice
from tests.examples import examples

DEVICES = 3
BY_DEVICE = ("check_in", "check_in", "better", "better", "worse", "fault", "leave")
BY_OTHERS = ("sweep", "sweep", "wait", "pin", "start", "promote", "cancel", "move", "finish")
EVENTS = st.lists(
    st.tuples(st.sampled_from((*BY_DEVICE, *BY_OTHERS)), st.integers(0, DEVICES - 1)), min_size=5, max_size=25
)


class Story:
    """Events as they come, and what is known to have ended."""

    def __init__(self) -> None:
        self.world = World(devices=DEVICES)
        self.now = START
        self.ended: dict[str, tuple[str, str]] = {}

    def happen(self, event: str, number: int) -> None:
        self.now += timedelta(seconds=1)
        device = self.world.devices[number]
        with suppress(CoterieError):  # what does not fit the state is refused, with a code
            self._happen(event, device)
        self.check()

    def _happen(self, event: str, device: ScriptedDevice) -> None:
        latest = Rollout.objects.first()
        match event:
            case "check_in":
                follow(device, self.now)
            case "better" | "worse" | "fault" if latest is not None:
                outcome = {
                    "better": {"compared": comparison(before=0.5, after=0.9)},
                    "worse": {"compared": comparison(before=0.5, after=0.1)},
                    "fault": {"fault": Reason("model.broken", "it does not load")},
                }[event]
                device_api.report_trial(device.row, ReportTrial(rollout=str(latest.pk), **outcome), self.now)
            case "pin":
                pin_device(device=device.row, version="" if device.row.pinned_version else str(self.world.champion.pk))
            case "leave":
                leave_fleet(device=device.row, now=self.now)
            case "wait":
                self.now += timedelta(seconds=TERMS["within_s"] / 2)
            case "start":
                start_rollout(version=self.world.candidate, terms=TERMS, now=self.now)
            case "promote" if latest is not None:
                promote_rollout(rollout=latest, now=self.now)
            case "cancel" if latest is not None:
                cancel_rollout(rollout=latest, now=self.now)
            case "move":
                move_champion(version=self.world.champion, now=self.now)
            case "finish":
                finish_federation(federation=self.world.federation, now=START)
            case _:
                sweep(now=self.now)

    def check(self) -> None:
        rollouts = list(Rollout.objects.all())
        for rollout in rollouts:
            end = self.ended.get(str(rollout.pk))
            assert end is None or end == (rollout.state, rollout.reason_code), "an end is the end"
            if rollout.state not in Rollout.ACTIVE:
                self.ended[str(rollout.pk)] = (rollout.state, rollout.reason_code)
                assert rollout.ended_at is not None
                assert rollout.reason_code
        assert sum(rollout.state == "measuring" for rollout in rollouts) <= 1
        if self.world.in_use() == self.world.candidate:
            assert any(state == "promoted" for state, _ in self.ended.values())

    def settle(self) -> None:
        for _ in range(3):
            self.now += timedelta(seconds=TERMS["within_s"] + TERMS["absent_s"] + 1)
            sweep(now=self.now)
            self.check()


@pytest.mark.django_db
@settings(max_examples=examples(3, 8))
@given(events=EVENTS)
def test_every_rollout_ends_once_and_only_a_promotion_moves_the_champion(events: list[tuple[str, int]]) -> None:
    with transaction.atomic():
        story = Story()
        for event in [("start", 0), ("sweep", 0), *events]:
            story.happen(*event)
        story.settle()
        assert not Rollout.objects.filter(state__in=Rollout.ACTIVE).exists()
        transaction.set_rollback(True)
