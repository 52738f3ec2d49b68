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
    needed = draw(st.integers(0, group))
    told = reports + draw(st.integers(0 if reports else 1, 200))
    faults = draw(st.integers(0, told))
    return CanaryEvidence(group, reports, needed, told, faults, draw(st.floats(-1, 1)), draw(st.floats(0, 1e6)))


@every_kind
@given(available=st.integers(0, 100_000))
def test_the_group_is_one_of_those_that_are_there_and_can_report_enough(kind: type[Rollout], available: int) -> None:
    rollout = kind()
    sizes = [rollout.group_size(available, phase) for phase in range(rollout.phase_count())]
    assert 0 <= sizes[0] <= sizes[-1] <= available
    assert sizes == sorted(sizes)
    assert sizes[0] >= min(available, rollout.reports_needed())


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
def test_only_what_enough_devices_could_use_passes(kind: type[Rollout], standing: CanaryEvidence) -> None:
    rollout = kind()
    unusable = standing._replace(faults=standing.total_reports)
    assert rollout.verdict(unusable) != "pass"
    if rollout.verdict(standing) == "pass":
        assert standing.reports >= standing.needed
        better = standing._replace(faults=0, excess=min(0.0, standing.excess))
        assert rollout.verdict(better) == "pass", "who does better passes, too"


@every_kind
@given(standing=standings(), more=st.floats(0, 1))
@settings(max_examples=200)
def test_more_errors_never_help(kind: type[Rollout], standing: CanaryEvidence, more: float) -> None:
    rollout = kind()
    if rollout.verdict(standing) != "pass":
        assert rollout.verdict(standing._replace(excess=standing.excess + more)) != "pass"


def test_one_kind_gives_every_device_a_version_at_once_and_another_does_not() -> None:
    assert 0 < len(STAGED) < len(ROLLOUT.kinds)
