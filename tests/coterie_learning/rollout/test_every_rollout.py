"""Every kind of slot `rollout`: a candidate comes to a verdict in time, and none is promoted that nobody could use."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_learning.plan import ROLLOUT
from coterie_learning.rollout import CanaryEvidence, Rollout

STAGED = {name: kind for name, kind in ROLLOUT.kinds.items() if kind().is_staged()}
every_kind = pytest.mark.parametrize("kind", STAGED.values(), ids=list(STAGED))


@st.composite
def standings(draw: st.DrawFn) -> CanaryEvidence:
    """How any group may stand."""
    group = draw(st.integers(1, 200))
    reports = draw(st.integers(0, group))
    faults = draw(st.integers(0, reports))
    return CanaryEvidence(group, reports, faults, draw(st.floats(-1, 1)), draw(st.floats(0, 1e6)))


@every_kind
@given(available=st.integers(0, 100_000))
def test_the_group_is_one_of_those_that_are_there_and_can_report_enough(kind: type[Rollout], available: int) -> None:
    rollout = kind()
    size = rollout.group_size(available)
    assert 0 <= size <= available
    assert size >= min(available, rollout.reports_needed())


@every_kind
@given(standing=standings())
@settings(max_examples=200)
def test_it_ends_in_time_and_says_the_same_of_the_same(kind: type[Rollout], standing: CanaryEvidence) -> None:
    rollout = kind()
    assert rollout.verdict(standing) == rollout.verdict(standing)
    assert rollout.verdict(standing._replace(elapsed_s=rollout.patience_s())) != "wait"


@every_kind
@given(standing=standings())
@settings(max_examples=200)
def test_only_what_enough_devices_could_use_is_promoted(kind: type[Rollout], standing: CanaryEvidence) -> None:
    rollout = kind()
    unusable = standing._replace(faults=standing.reports)
    assert rollout.verdict(unusable) != "promote"
    if rollout.verdict(standing) == "promote":
        assert standing.reports >= rollout.reports_needed()
        better = standing._replace(faults=0, excess=min(0.0, standing.excess))
        assert rollout.verdict(better) == "promote", "who does better is promoted, too"


@every_kind
@given(standing=standings(), more=st.floats(0, 1))
@settings(max_examples=200)
def test_more_errors_never_help(kind: type[Rollout], standing: CanaryEvidence, more: float) -> None:
    rollout = kind()
    if rollout.verdict(standing) != "promote":
        assert rollout.verdict(standing._replace(excess=standing.excess + more)) != "promote"


def test_one_kind_gives_every_device_a_version_at_once_and_another_does_not() -> None:
    assert 0 < len(STAGED) < len(ROLLOUT.kinds)
