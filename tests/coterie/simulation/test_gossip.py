"""A simulated fleet that meets: what a meeting of all comes to, who is late, and that a fleet learns so."""

import pytest

from coterie.simulation.outcome import SimulationOutcome
from tests.coterie.simulation.small import ROUNDS, run, scenario

ALL = {**ROUNDS, "target_updates": 4, "min_updates": 4, "deadline_s": 300}


def simulated(topology: dict[str, object], codec: str = "float32", **more: object) -> SimulationOutcome:
    return run({"pace": ALL, "topology": topology, "codec": {"kind": codec}, "local": {"kind": "sgd"}, **more})


def test_one_meeting_of_all_is_a_round_of_a_star() -> None:
    """The degenerate case: a complete graph in one meeting averages all, as the platform would; only how that rounds
    differs, since the platform is sent four times the mean."""
    star, met = (
        simulated({"kind": "star"}),
        simulated({"kind": "gossip", "meetings": 1, "settling": 0, "mixing": "mean"}),
    )
    assert [one.outcome for one in met.rounds] == [one.outcome for one in star.rounds]
    assert met.accuracy.mean == pytest.approx(star.accuracy.mean, abs=0.05)


def test_devices_meet_and_what_they_send_is_counted() -> None:
    outcome = simulated({"kind": "gossip", "meetings": 3, "settling": 1, "group": 2, "mixing": "mean"})
    merged = [one for one in outcome.rounds if one.outcome == "merged"]
    assert merged
    assert all(one.delivered == 4 for one in merged)
    assert outcome.bytes_by_kind["meetings"] > outcome.bytes_by_kind["updates"]


@pytest.mark.long
def test_it_can_be_repeated() -> None:
    topology: dict[str, object] = {"kind": "gossip", "meetings": 2, "settling": 1, "group": 2, "mixing": "mean"}
    assert simulated(topology, "int8").json() == simulated(topology, "int8").json()


def test_a_device_that_is_late_goes_on_from_the_others_and_all_come_home() -> None:
    """Some devices take thirty times as long; the others wait for two seconds."""
    slow = scenario(speed={"sample_s": 0.01, "stragglers": 0.5, "straggler_factor": 30})
    topology = {"kind": "gossip", "meetings": 4, "settling": 1, "group": 4, "wait_s": 2}
    outcome = run({"pace": ALL, "topology": topology, "codec": {"kind": "float32"}}, slow, seed=3)
    assert any(one.delivered >= 3 for one in outcome.rounds)


def test_walkers_that_are_all_drawn_each_time_are_gossip_in_one_group() -> None:
    """The degenerate case, bit for bit."""
    met = simulated({"kind": "gossip", "meetings": 3, "settling": 0, "group": 4})
    walked = simulated({"kind": "walkers", "meetings": 3, "walkers": 4})
    assert (walked.accuracy, walked.bytes_by_kind, walked.rounds) == (met.accuracy, met.bytes_by_kind, met.rounds)


def test_walkers_hop_and_send_less_than_devices_that_all_meet_each_time() -> None:
    met = simulated({"kind": "gossip", "meetings": 6, "settling": 0, "group": 2, "mixing": "mean"})
    walked = simulated({"kind": "walkers", "meetings": 6, "walkers": 2, "mixing": "mean"})
    for outcome in (met, walked):
        assert all(one.delivered == 4 for one in outcome.rounds if one.outcome == "merged")
        assert any(one.outcome == "merged" for one in outcome.rounds)
    sent = [outcome.bytes_by_kind["meetings"] / len(outcome.rounds) for outcome in (walked, met)]
    assert 0 < sent[0] < sent[1]


def test_a_walker_that_takes_too_long_is_passed_over_and_all_come_home() -> None:
    """Some devices take thirty times as long; the next ones begin after ten seconds."""
    slow = scenario(speed={"sample_s": 0.01, "stragglers": 0.5, "straggler_factor": 30})
    topology = {"kind": "walkers", "meetings": 6, "walkers": 1, "wait_s": 2, "turn_s": 10, "mixing": "mean"}
    outcome = run({"pace": ALL, "topology": topology, "codec": {"kind": "float32"}}, slow, seed=3)
    assert any(one.delivered >= 3 for one in outcome.rounds)
