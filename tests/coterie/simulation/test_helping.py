"""Help between virtual devices: who asks, who helps, what it costs, and that nobody is worse off."""

import pytest

from coterie.simulation.outcome import SimulationOutcome
from tests.coterie.simulation.small import run, scenario

STREAM: dict[str, object] = {
    "kind": "digits",
    "batches": 22,
    "batch_size": 40,
    "batch_s": 60,
    "arrives_at": 14,
    "arrival_weight": 1.5,
    "profiles": [{"classes": [0, 1, 2], "arrives": 7}, {"classes": [0, 1, 2, 7]}, {"classes": [7, 8, 9]}],
}
LEARNERS: dict[str, dict[str, object]] = {
    "linear": {"kind": "linear", "step": 0.004},
    "forest": {"kind": "forest", "trees": 8},
}
every_learner = pytest.mark.parametrize("learner", LEARNERS)


def simulated(
    learner: str, help_: dict[str, object] | None, *, stream: dict[str, object] = STREAM
) -> SimulationOutcome:
    plan: dict[str, object] = {"pace": {"kind": "alone"}, "help": help_ or {"kind": "none"}}
    return run(plan, scenario(devices=3, window=4, stream=stream, learner=LEARNERS[learner], speed={"sample_s": 0.01}))


@every_learner
def test_a_device_that_meets_a_new_digit_is_helped_by_its_like(learner: str) -> None:
    alone, helped = simulated(learner, None), simulated(learner, {"kind": "cartel"})
    kept = [one for one in helped.help if one.outcome == "kept"]
    assert kept and kept[0].device == "device-0" and kept[0].helper == "device-1"
    assert kept[0].tick in (14, 15) and kept[0].classes == (7,)
    assert kept[0].after is not None and kept[0].before is not None and kept[0].after > kept[0].before
    (first,), (second,) = alone.recoveries, helped.recoveries
    assert second.batches is not None
    assert first.batches is None or first.batches > second.batches
    assert set(helped.bytes_by_kind) == {"metadata", "portions", "requests"}
    assert helped.bytes_by_kind["portions"] >= 2 * kept[0].portion_bytes


@pytest.mark.parametrize("detector", [{"kind": "window", "limit": 1.0}, {"kind": "page_hinkley", "threshold": 1e6}])
def test_a_device_that_never_asks_learns_alone(detector: dict[str, object]) -> None:
    alone, silent = simulated("linear", None), simulated("linear", {"kind": "cartel", "detector": detector})
    assert silent.help == ()
    assert silent.devices == alone.devices
    assert set(silent.bytes_by_kind) == {"metadata"}


def test_a_helper_that_is_too_slow_is_not_waited_for() -> None:
    outcome = simulated("linear", {"kind": "cartel", "deliver_s": 1e-6})
    assert {one.outcome for one in outcome.help} == {"unmatched"}
    assert outcome.devices == simulated("linear", None).devices, "asking delays no training"


def test_without_a_neighbour_near_enough_a_device_stays_alone() -> None:
    outcome = simulated("linear", {"kind": "cartel", "largest_divergence": 0.0})
    assert {one.outcome for one in outcome.help} == {"unmatched"}
    assert outcome.devices == simulated("linear", None).devices
    reasons = [one.reason for one in outcome.help if one.reason is not None]
    assert {reason.code for reason in reasons} == {"transfer.no_neighbour"}
    assert any("with too different data" in reason.sentence for reason in reasons)


def test_help_that_does_not_help_is_undone() -> None:
    """All trees of one who never saw most of the target's digits."""
    strange = {
        **STREAM,
        "profiles": [{"classes": [0, 1, 2], "arrives": 7}, {"classes": [7, 8, 9]}, {"classes": [3, 4]}],
    }
    help_ = {"kind": "cartel", "largest_divergence": 1.0, "share": 1.0}
    outcome = simulated("forest", help_, stream=strange)
    judged = [one for one in outcome.help if one.before is not None and one.after is not None]
    assert "undone" in {one.outcome for one in judged}
    for one in judged:
        assert one.before is not None and one.after is not None
        assert one.outcome != "kept" or one.after > one.before


def test_a_little_noise_on_profiles_leaves_help_as_it_is_and_much_leaves_none() -> None:
    quiet, little, much = (
        simulated("linear", {"kind": "cartel", "noise_multiplier": noise}) for noise in (0.0, 0.01, 100.0)
    )
    kept = [one for one in little.help if one.outcome == "kept"]
    assert kept and (kept[0].device, kept[0].helper, kept[0].classes) == ("device-0", "device-1", (7,))
    assert not any(one.outcome == "kept" for one in much.help)
    assert quiet.json() == simulated("linear", {"kind": "cartel"}).json()


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert simulated("linear", {"kind": "cartel"}).json() == simulated("linear", {"kind": "cartel"}).json()
