"""Real agents of unlike speed in asynchronous rounds, killed in the middle, and their rounds made again."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from coterie_learning.cohort import discounted, weights
from coterie_learning.fold import CountedUpdate, fold_in_memory
from coterie_learning.plan import parse_plan
from coterie_learning.update_files import Contents, UpdateFile
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors, decode_tensors
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import SPEC, samples
from tests.system.real_agent import RealAgent

SAMPLES = (100, 100, 1500)
"""Of each agent: the last one takes many times as long."""
PLAN = {
    "local": {"kind": "sgd", "epochs": 40, "learning_rate": 0.001},
    "codec": {"kind": "int8"},
    "pace": {"kind": "buffered", "buffer": 2, "at_work": 3, "max_staleness": 50},
}
# Any: the tests read a few fields of what the platform answers.
Json = dict[str, Any]


class Recorded:
    """What a federation's rounds have left on the platform: their order, their updates and their versions."""

    def __init__(self, site: Site, federation: str) -> None:
        self.site, self.plan = site, parse_plan(PLAN)
        first = site.operator.list("/rounds/", federation=federation, sort="number")
        published = [round_["number"] for round_ in first if round_["state"] == "published"]
        self.rounds = [site.operator.ended_round(federation, number) for number in sorted(published)]

    def taken(self, round_: Json) -> list[Json]:
        """The updates that went into a round."""
        return [part["delivered"] for part in round_["assignments"] if part["taken_by"] == round_["id"]]

    def made(self, version: str) -> Tensors:
        """The parameters of a version."""
        sha256 = self.site.operator.get(f"/versions/{version}/")["parameters"]
        return decode_tensors(self._file(sha256), expected=SPEC.version)

    def made_again(self, round_: Json) -> Tensors:
        """The parameters that follow from the round's base and updates, and from nothing else."""
        updates, contents = self.taken(round_), Contents(SPEC, self.plan.codec, self.plan.local)

        @contextmanager
        def opened(update: Json) -> Iterator[UpdateFile]:
            yield contents.open(InMemory(self._file(update["sha256"])), ())

        counted = self.plan.merge.counted([update["samples"] for update in updates])
        weighed = discounted(weights(counted), [self.plan.pace.discount(update["staleness"]) for update in updates])
        counting = [
            CountedUpdate(lambda update=update: opened(update), *weight)  # type: ignore[misc]
            for update, weight in zip(updates, weighed, strict=True)
        ]
        base = self.made(round_["base_version"])
        return fold_in_memory(self.plan.merge, SPEC.parameters, counting, base, None).parameters

    def _file(self, sha256: str) -> bytes:
        (path,) = self.site.platform.state.rglob(sha256)
        return path.read_bytes()


@pytest.fixture
def agents(site: Site, tmp_path: Path) -> Iterator[tuple[str, list[RealAgent]]]:
    """A federation, and three agents that do not run yet."""
    name = "asynchronous"
    federation = site.operator.start_federation(name, pair=site.unused_pair(), plan=PLAN)
    token = site.operator.enrolment_token(tag=name, uses=len(SAMPLES))
    with ExitStack() as stack:
        made = []
        for number, count in enumerate(SAMPLES):
            learns = samples(count, seed=number)
            agent = RealAgent(tmp_path / f"agent-{number}", site.url, token, learns=learns, chunk_bytes=1024)
            stack.callback(agent.kill)
            made.append(agent)
        yield federation, made


@pytest.mark.long
def test_rounds_go_on_through_kills_count_every_update_once_and_can_be_made_again(
    site: Site, agents: tuple[str, list[RealAgent]]
) -> None:
    federation, (first, second, slow) = agents
    for agent in (first, second, slow):
        agent.start()
    site.operator.ended_round(federation, 1)
    site.platform.kill_server()
    eventually(lambda: slow.progress().get("stage") == "training")
    slow.kill()
    site.operator.ended_round(federation, 2)
    slow.start()
    site.operator.ended_round(federation, 3)
    site.platform.kill_all()

    def stale() -> Recorded | None:
        found = Recorded(site, federation)
        return found if any(age["staleness"] for round_ in found.rounds for age in round_["updates_by_age"]) else None

    recorded = eventually(stale, within_s=240)  # the slow device's work counts
    assert [round_["number"] for round_ in recorded.rounds] == list(range(1, len(recorded.rounds) + 1))
    versions = [round_["result_version"] for round_ in recorded.rounds]
    assert [round_["base_version"] for round_ in recorded.rounds[1:]] == versions[:-1], "each goes on from the last"
    taken = [update for round_ in recorded.rounds for update in recorded.taken(round_)]
    assert [round_["updates"] for round_ in recorded.rounds] == [len(recorded.taken(r)) for r in recorded.rounds]
    assert len(taken) == len({update["sha256"] for update in taken}) == 2 * len(recorded.rounds)
    assert not any(update["fault_code"] for update in taken)
    for round_ in recorded.rounds:
        wanted, found = recorded.made(round_["result_version"]), recorded.made_again(round_)
        for name, tensor in wanted.items():
            assert found[name].tobytes() == tensor.tobytes()
    site.operator.post(f"/federations/{federation}/finish/")

    def ended() -> bool:
        parts = site.operator.list("/assignments/", federation=federation)
        return not {part["state"] for part in parts} & {"offered", "accepted"}

    eventually(ended, within_s=120)
