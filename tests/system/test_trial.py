"""An A/B trial with real agents: two plans for one pair, at the same time, and the pair takes over the winner."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.system.conftest import Site
from tests.system.real_agent import RealAgent

ARMS = {"slow": 0.0001, "quick": 0.1}
"""By federation and tag, the step size."""


@pytest.fixture
def agents(site: Site, tmp_path: Path) -> Iterator[dict[str, RealAgent]]:
    """A device in each arm, and one in both."""
    with ExitStack() as stack:
        found = {}
        for name, tags in (("slow", ["slow"]), ("quick", ["quick"]), ("both", list(ARMS))):
            found[name] = RealAgent(tmp_path / name, site.url, site.operator.enrolment_token(also=tags))
            stack.callback(found[name].kill)
        yield found


@pytest.mark.long
def test_two_federations_of_a_pair_learn_at_the_same_time(site: Site, agents: dict[str, RealAgent]) -> None:
    operator, pair = site.operator, site.unused_pair()
    first = operator.get(f"/pairs/{pair}/")["device_champion"]
    federations = {
        name: operator.start_federation(
            name,
            pair=pair,
            own_versions=True,
            held_out=site.held_out,
            rounds_wanted=1,
            plan={
                "local": {"kind": "sgd", "epochs": 3, "learning_rate": step},
                "pace": {"kind": "sync", "target_updates": 2, "min_updates": 2, "over_selection": 1},
            },
        )
        for name, step in ARMS.items()
    }
    for agent in agents.values():
        agent.start()
    ended = {name: operator.ended_round(federation, 1) for name, federation in federations.items()}
    assert {round_["state"] for round_ in ended.values()} == {"published"}
    for name, round_ in ended.items():
        assert {part["device"] for part in round_["assignments"] if part["delivered"]} == {
            agents[name].id,
            agents["both"].id,
        }
    versions = {one["id"]: one for one in operator.list("/versions/", pair=pair, role="device")}
    assert sorted((one["lineage"], one["number"]) for one in versions.values() if one["champion"]) == [
        ("", 1),
        ("quick/base", 2),
        ("slow/base", 2),
    ]
    assert operator.get(f"/pairs/{pair}/")["device_champion"] == first, "the pair's own has not moved"

    operator.post(f"/federations/{federations['quick']}/adopt/")
    taken = operator.get(f"/versions/{operator.get(f'/pairs/{pair}/')['device_champion']}/")
    assert (taken["origin"], versions[taken["parent"]]["lineage"]) == ("copy", "quick/base")
