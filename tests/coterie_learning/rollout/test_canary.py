import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.plan import ROLLOUT
from coterie_learning.rollout import CanaryEvidence
from coterie_learning.rollout.at_once import AtOnce
from coterie_learning.rollout.canary import Canary, Phase
from coterie_learning.rollout.comparison import compare
from coterie_wire.errors import WireError
from coterie_wire.trial import Fit

CANARY = Canary(share=0.1, reports=3, threshold=0.02, within_s=60)
STANDING = CanaryEvidence(group=4, reports=4, needed=3, total_reports=4, faults=0, excess=0.0, elapsed_s=10)
PHASED = Canary(share=0.01, phases=(Phase(0.1), Phase(0.5)), reports=3, threshold=0.02, within_s=60, hold_s=20)
OWN = Canary(
    share=0.01,
    phases=(Phase(0.1, within_s=600), Phase(0.5, threshold=0.005, hold_s=50)),
    reports=3,
    threshold=0.02,
    within_s=60,
    hold_s=20,
    shadow_within_s=5,
)


@pytest.mark.parametrize(("available", "size"), [(3, 3), (10, 3), (30, 3), (31, 4), (100, 10), (2, 2)])
def test_the_group_is_a_share_and_never_smaller_than_the_reports_it_needs(available: int, size: int) -> None:
    assert CANARY.group_size(available) == size


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "pass"),
        ({"excess": 0.02}, "pass"),
        ({"excess": 0.021}, "worse"),
        ({"reports": 3}, "wait"),
        ({"reports": 3, "excess": 0.5}, "worse"),
        ({"reports": 3, "elapsed_s": 60}, "pass"),
        ({"reports": 2, "excess": 0.5}, "wait"),
        ({"reports": 2, "excess": -1.0, "elapsed_s": 60}, "too_few_reports"),
        ({"faults": 1}, "unusable"),
        ({"faults": 4}, "unusable"),
    ],
)
def test_it_promotes_what_is_no_worse_on_enough_devices(changes: dict[str, float], verdict: str) -> None:
    assert CANARY.verdict(STANDING._replace(**changes)) == verdict


@pytest.mark.parametrize(("available", "sizes"), [(1000, [10, 100, 500]), (20, [3, 3, 10]), (2, [2, 2, 2])])
def test_a_phase_is_a_larger_share_where_there_are_as_many(available: int, sizes: list[int]) -> None:
    assert [PHASED.group_size(available, phase) for phase in range(PHASED.phase_count())] == sizes


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "wait"),
        ({"elapsed_s": 20}, "pass"),
        ({"elapsed_s": 20, "reports": 3}, "wait"),
        ({"elapsed_s": 60, "reports": 3}, "pass"),
        ({"excess": 0.03}, "worse"),
        ({"total_reports": 100, "faults": 2, "elapsed_s": 20}, "pass"),
        ({"total_reports": 100, "faults": 3, "elapsed_s": 20}, "unusable"),
        ({"reports": 0, "total_reports": 100, "elapsed_s": 60}, "too_few_reports"),
        ({"reports": 0, "needed": 0, "group": 0, "total_reports": 100, "elapsed_s": 20}, "pass"),
    ],
)
def test_a_phase_is_watched_for_its_time_and_judged_with_those_before(changes: dict[str, float], verdict: str) -> None:
    assert PHASED.verdict(STANDING._replace(**changes)) == verdict


@pytest.mark.parametrize(
    ("phase", "changes", "verdict"),
    [
        (0, {"elapsed_s": 20}, "pass"),
        (1, {"elapsed_s": 20}, "pass"),
        (2, {"elapsed_s": 49}, "wait"),
        (2, {"elapsed_s": 50}, "pass"),
        (0, {"elapsed_s": 65, "reports": 2}, "too_few_reports"),
        (1, {"elapsed_s": 65, "reports": 2}, "wait"),
        (1, {"elapsed_s": 605, "reports": 2}, "too_few_reports"),
        (1, {"excess": 0.02, "elapsed_s": 50}, "pass"),
        (2, {"excess": 0.006, "elapsed_s": 50}, "worse"),
        (1, {"total_reports": 100, "faults": 2, "elapsed_s": 50}, "pass"),
        (2, {"total_reports": 100, "faults": 1, "elapsed_s": 50}, "unusable"),
    ],
)
def test_a_phase_has_a_time_and_a_threshold_of_its_own_or_those_of_the_first(
    phase: int, changes: dict[str, float], verdict: str
) -> None:
    assert OWN.verdict(STANDING._replace(phase=phase, **changes)) == verdict


def test_a_phase_is_waited_for_as_long_as_it_says() -> None:
    assert [OWN.patience_s(phase) for phase in range(3)] == [65, 605, 65]


@pytest.mark.parametrize(
    "terms",
    [
        {"share": 0.1, "phases": [{"share": 0.1}]},
        {"phases": [{"share": 0.5}, {"share": 0.3}]},
        {"phases": [{"share": 1.5}]},
        {"phases": [{}]},
        {"phases": [{"share": 0.5, "whithin_s": 5}]},
        {"phases": [{"share": 0.5, "threshold": 1.1}]},
        {"within_s": 60, "hold_s": 61},
        {"within_s": 60, "phases": [{"share": 0.5, "hold_s": 61}]},
        {"within_s": 600, "hold_s": 60, "phases": [{"share": 0.5, "within_s": 30}]},
    ],
)
def test_phases_that_do_not_grow_and_times_that_do_not_fit_are_refused(terms: dict[str, object]) -> None:
    with pytest.raises(WireError, match="slot rollout, kind canary"):
        ROLLOUT.parse({"kind": "canary", **terms})


def test_all_faults_are_never_promoted_however_high_the_threshold() -> None:
    assert Canary(threshold=1).verdict(STANDING._replace(faults=4)) == "unusable"


@given(
    st.builds(
        CanaryEvidence,
        group=st.integers(0, 9),
        reports=st.integers(0, 9),
        needed=st.integers(0, 3),
        total_reports=st.integers(9, 20),
        faults=st.just(0),
        excess=st.floats(-1, 1),
        elapsed_s=st.floats(0, 100),
        phase=st.just(0),
    ),
    st.floats(0, 1),
)
def test_a_better_candidate_is_never_judged_worse(standing: CanaryEvidence, better_by: float) -> None:
    better = standing._replace(excess=standing.excess - better_by)
    if CANARY.verdict(standing) == "pass":
        assert CANARY.verdict(better) == "pass"
    if standing.elapsed_s >= CANARY.within_s:
        assert CANARY.verdict(standing) != "wait"


def test_devices_count_once_and_their_differences_cancel_out() -> None:
    pairs = [(Fit(9.0, 0.9), Fit(9.0, 0.8)), (Fit(9.0, 0.5), Fit(9.0, 0.6))]
    found = compare(pairs)
    assert found is not None
    assert (found.champion, found.candidate, found.excess, found.is_loss) == pytest.approx((0.3, 0.3, 0.0, False))


def test_where_nothing_is_right_losses_are_compared_by_their_share() -> None:
    found = compare([(Fit(2.0), Fit(2.0)), (Fit(4.0), Fit(5.0))])
    assert found is not None
    assert found.is_loss
    assert found.excess == pytest.approx(7 / 6 - 1)
    assert compare([(Fit(0.0), Fit(0.0))]).excess == 0  # type: ignore[union-attr]
    assert compare([]) is None


def test_at_once_asks_nobody() -> None:
    assert not AtOnce().is_staged()
