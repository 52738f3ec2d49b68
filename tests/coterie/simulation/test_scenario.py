import pytest

from coterie.simulation.errors import MalformedFile, UnknownScenario
from coterie.simulation.scenario import parse_scenario, read_scenario, shipped_scenarios

STREAM = {"kind": "digits", "profiles": [{"classes": [1]}]}
GOOD = {"title": "One digit", "stream": STREAM, "learner": {"kind": "neural"}}


@pytest.mark.parametrize("name", shipped_scenarios())
def test_what_is_shipped_can_be_read(name: str) -> None:
    assert read_scenario(name).title


def test_a_scenario_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UnknownScenario, match="digits-introduction"):
        read_scenario("no-such-scenario")
    with pytest.raises(UnknownScenario, match="the nearest is places;"):
        read_scenario("place")


@pytest.mark.parametrize(
    "wrong",
    [
        "digits",
        {**GOOD, "colour": "red"},
        {**GOOD, "devices": 0},
        {**GOOD, "stream": {"kind": "weather"}},
        {**GOOD, "stream": {**STREAM, "profiles": []}},
        {**GOOD, "stream": {**STREAM, "profiles": [{"classes": [10]}]}},
        {**GOOD, "speed": {"spread": -1}},
        {**GOOD, "habits": {"wifi": [22, 25]}},
        {"title": "No stream"},
    ],
)
def test_what_does_not_fit_is_refused(wrong: object) -> None:
    with pytest.raises(MalformedFile):
        parse_scenario(wrong, path="wrong.toml")
