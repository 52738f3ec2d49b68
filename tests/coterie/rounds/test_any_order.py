"""Whatever happens in whatever order: a round ends once, and an acknowledged update counts once."""

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import numpy as np
import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.cloud.averaging_job import MergeArguments, MergeResult
from coterie.core.errors import CoterieError
from coterie.federations.models import Federation
from coterie.federations.services import finish_federation
from coterie.merging.models import Update
from coterie.registry.content import BLOBS
from coterie.registry.models import ModelVersion
from coterie.rounds.advancing import sweep
from coterie.rounds.assigning import release_assignment
from coterie.rounds.models import Assignment, Round
from coterie_learning.codec.int8 import Int8
from coterie_wire.messages import Progress
from coterie_wire.tensors import decode_tensors
from tests.coterie.world import (
    MODEL,
    ON_BATTERY,
    START,
    ScriptedDevice,
    fleet_of,
    in_this_process,
    make_federation,
    make_pair,
    make_version,
    merge_round,
)
from tests.examples import examples

DEVICES = 4
BY_DEVICE = ("ready", "rest", "half", "progress", "replay", "blocked", "release")
BY_PLATFORM = ("sweep", "merge", "crash", "late_merge", "wait")
# More of what brings a round forward than of what disturbs it, or none would ever be published.
OFTEN = (*("ready",) * 5, *("rest",) * 8, *BY_DEVICE)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(OFTEN), st.integers(0, DEVICES - 1)),
        st.tuples(st.sampled_from(OFTEN), st.integers(0, DEVICES - 1)),
        st.tuples(st.sampled_from(("sweep", *BY_PLATFORM)), st.integers(1, 9)),
    ),
    min_size=30,
    max_size=80,
)


class PowerCut(Exception):
    """A worker dies."""


def dies(arguments: MergeArguments, cancel: object) -> MergeResult:
    """Merges, and is killed before the result is published."""
    in_this_process(arguments, cancel)
    raise PowerCut


@dataclass
class Story:
    """A fleet under way, and what its devices were told."""

    federation: Federation
    devices: list[ScriptedDevice]
    now = START
    given: dict[int, str] = field(default_factory=dict)
    acknowledged: dict[UUID, bytes] = field(default_factory=dict)

    def happen(self, event: str, number: int) -> None:
        self.now += timedelta(seconds=0.5)
        if event in BY_DEVICE:
            self._of_device(event, number)
        elif event == "sweep":
            sweep(now=self.now)
        elif event == "wait":
            self.now += timedelta(seconds=number)
        else:
            for round_ in Round.objects.filter(state=Round.State.MERGING):
                self._merge(event, round_)

    def _of_device(self, event: str, number: int) -> None:
        device = self.devices[number]
        if event in ("ready", "blocked"):
            directive = device.check_in(self.now, blockers=(ON_BATTERY,) if event == "blocked" else ())
            if directive.assignment is not None:
                self.given[number] = directive.assignment.assignment
            return
        if number not in self.given:
            return
        assignment = self.given[number]
        try:
            if event == "progress":
                device.check_in(self.now, progress=Progress(assignment, "training", 1, 9))
            elif event == "release":
                release_assignment(device=device.row, assignment_id=assignment, reason=ON_BATTERY, now=self.now)
            else:
                self._upload(event, device, assignment)
        except CoterieError as error:
            assert error.code in {"rounds.assignment_closed"}

    def _upload(self, event: str, device: ScriptedDevice, assignment: str) -> None:
        payload = device.payload(UUID(assignment).int % 1000)
        state = device.offer(assignment, payload, self.now)
        if not state.accepted and event != "replay":
            end = len(payload) // 2 if event == "half" else len(payload)
            state = device.send(assignment, payload[state.offset : end], state.offset, self.now)
        if state.accepted:
            self.acknowledged[UUID(assignment)] = payload

    def _merge(self, event: str, round_: Round) -> None:
        if event == "crash":
            try:
                merge_round(round_, clock=lambda: self.now, merger=dies)
            except PowerCut:
                return
        elif event == "late_merge":  # a worker that was stopped for so long that another has taken over
            merge_round(round_, clock=lambda: self.now, merger=self._overtaken(round_))
        else:
            merge_round(round_, clock=lambda: self.now, merger=in_this_process)

    def _overtaken(self, round_: Round):
        def merger(arguments: MergeArguments, cancel: object) -> MergeResult:
            self.now += timedelta(seconds=10)
            merge_round(round_, clock=lambda: self.now, merger=in_this_process)
            return in_this_process(arguments, cancel)

        return merger

    def settle(self) -> None:
        finish_federation(federation=self.federation, now=START)
        for _ in range(6):
            self.now += timedelta(seconds=31)
            sweep(now=self.now)
            for round_ in Round.objects.filter(state=Round.State.MERGING):
                self._merge("merge", round_)


@pytest.mark.django_db
@settings(max_examples=examples(2, 6))
@given(events=EVENTS)
def test_every_round_ends_once_and_counts_what_it_acknowledged(events: list[tuple[str, int]]) -> None:
    with transaction.atomic():
        pair = make_pair()
        make_version(pair)
        story = Story(
            make_federation(pair, target_updates=3, min_updates=2, deadline_s=30, absent_s=8), fleet_of(DEVICES)
        )
        for number in range(DEVICES):
            story.happen("ready", number)
        for event in events:
            story.happen(*event)
        story.settle()
        check(story)
        transaction.set_rollback(True)


def check(story: Story) -> None:
    assert not Round.objects.filter(state__in=Round.ACTIVE).exists()
    assert not Assignment.objects.filter(state__in=(*Assignment.LIVE, "dropped")).exists()
    assert set(Update.objects.values_list("assignment", flat=True)) == set(story.acknowledged)
    for round_ in Round.objects.all():
        assert round_.updates_in == round_.assignments.filter(state=Assignment.State.DELIVERED).count()
    published = Round.objects.filter(state=Round.State.PUBLISHED)
    assert ModelVersion.objects.count() == 1 + published.count()
    for round_ in published:
        parts = [key for key in story.acknowledged if round_.assignments.filter(pk=key).exists()]
        assert round_.metrics["updates"] == len(parts)
        updates = [Int8().decode(story.acknowledged[key], expected=MODEL.parameters) for key in parts]
        base, result = read(round_.base_version), read(round_.result_version)
        for name in base:
            mean = np.mean([update[name] for update in updates], axis=0, dtype=np.float64)
            np.testing.assert_allclose(result[name], base[name] + mean, rtol=1e-6, atol=1e-6)


def read(version: ModelVersion):
    with BLOBS.open(version.parameters_id) as file:
        return decode_tensors(file.read(), expected=MODEL.parameters)
