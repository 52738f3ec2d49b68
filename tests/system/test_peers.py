"""Real agents that help one another through a real platform, which is killed; and a helper that dies."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aioice.ice import get_host_addresses
from numpy.typing import NDArray

from coterie_wire.conditions import Conditions
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import SIDE, SPEC
from tests.system.proxy import Proxy
from tests.system.real_agent import READY, RealAgent

OFFLINE = Conditions(charging="yes", network="none", idle="yes")
BATCH = SPEC.batch_size
OPENS_PATHS = "[direct]\nconnect = true\n"
FAMILIAR, NEW = 1, 3
"""Classes: one that everybody sees, one that the target has never seen."""
Samples = tuple[NDArray[np.float32], NDArray[np.int64]]
# Steps are so small that the two batches on which a device trains while it asks do not teach it the new class.
PLAN = {
    "pace": {"kind": "alone"},
    "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.004},
    "codec": {"kind": "float32"},
    "help": {
        "kind": "cartel",
        "portion": "head",
        "largest_divergence": 0.9,
        "cool_down_batches": 0,
    },
}


def samples(count: int, classes: tuple[int, ...], *, seed: int) -> Samples:
    """Images in which each class lights rows of its own."""
    rng = np.random.default_rng(seed)
    labels = np.array([classes[index % len(classes)] for index in range(count)])
    images = rng.normal(scale=0.3, size=(count, SIDE, SIDE))
    for image, label in zip(images, labels, strict=True):
        image[3 * label : 3 * label + 3] += 0.5
    return images.astype(np.float32), labels


class Peers:
    """A federation whose devices learn alone and help one another."""

    def __init__(self, site: Site, name: str, home: Path, stack: ExitStack) -> None:
        self.site, self._name, self._home, self._stack = site, name, home, stack
        self.federation = site.operator.start_federation(name, pair=site.unused_pair(), plan=PLAN)
        self.token = site.operator.enrolment_token(tag=name, uses=3)

    def member(self, name: str, classes: tuple[int, ...], *, url: str | None = None, settings: str = "") -> RealAgent:
        """A running agent that has learned its classes and told so."""
        learns = samples(40 * BATCH, classes, seed=len(name))
        agent = RealAgent(
            self._home / name, url or self.site.url, self.token, learns=learns, chunk_bytes=1024, settings=settings
        )
        self._stack.callback(agent.kill)
        agent.start()

        def told() -> bool:
            profiles = self.site.operator.list("/profiles/", device=agent.id)
            # Nothing is counted before the first batch has been judged.
            counts, hits = (sum(profiles[0]["profile"].get(name, ())) if profiles else 0 for name in ("counts", "hits"))
            return counts > 0 and hits > 0.9 * counts

        eventually(told)
        return agent

    def meets_what_it_never_saw(self, agent: RealAgent) -> None:
        agent.ingest(*samples(2 * BATCH, (0, NEW), seed=99))

    def request(self, **query: str) -> dict[str, Any] | None:
        """The first request for help with the new class that the query asks for, once there is one.

        A device may ask for help with the familiar classes before, while it has hardly learned them, and for the same
        again at once.
        """
        requests = self.site.operator.list("/help-requests/", federation=self.federation, **query)
        return next((request for request in reversed(requests) if NEW in request["classes"]), None)

    def reaches(self, state: str) -> dict[str, Any]:
        return eventually(lambda: self.request(state=state))

    def ends(self, request: str) -> dict[str, Any]:
        """The help request once it is judged; the plan lets the device ask again at once."""

        def judged() -> dict[str, Any] | None:
            found: dict[str, Any] = self.site.operator.get(f"/help-requests/{request}/")
            return found if found["state"] == "judged" else None

        return eventually(judged)


@pytest.fixture
def new_peers(site: Site, tmp_path: Path) -> Iterator[Callable[[str], Peers]]:
    """Makes one, by its name."""
    with ExitStack() as stack:
        yield lambda name: Peers(site, name, tmp_path, stack)


def test_a_device_drifts_asks_and_recovers_while_the_platform_is_killed_in_the_middle(
    new_peers: Callable[[str], Peers],
) -> None:
    peers = new_peers("peers-kill")
    helper = peers.member("helper", (0, FAMILIAR, NEW))
    target = peers.member("target", (0, FAMILIAR))
    x, _ = samples(20, (NEW,), seed=7)
    helper.set_conditions(OFFLINE)
    eventually(lambda: not peers.site.operator.get(f"/devices/{helper.id}/")["ready"])
    peers.meets_what_it_never_saw(target)
    peers.reaches("asked")
    peers.site.platform.kill_all()
    target.set_conditions(OFFLINE)
    helper.set_conditions(READY)
    delivered = peers.reaches("delivered")
    peers.site.platform.kill_all()
    target.set_conditions(READY)
    judged = peers.ends(delivered["id"])
    (transfer,) = judged["transfers"]
    assert (transfer["state"], transfer["helper"]) == ("kept", helper.id)
    assert transfer["accuracy_after"] > transfer["accuracy_before"]
    assert target.predicted(x).count(NEW) >= 18
    status = target.status()
    assert "kept" in {outcome["outcome"] for outcome in status["helped"]}
    sent = {entry["what"]: entry["bytes"] for entry in status["sent"]}
    assert sent["ask-help"] < 10 * 500  # it is sent again when its answer was lost
    assert sent["report-profile"] < 10 * 500
    assert "portion" not in sent
    assert {entry["what"] for entry in helper.status()["sent"]} >= {"portion", "offer-portion"}


@pytest.mark.skipif(not get_host_addresses(use_ipv4=True, use_ipv6=True), reason="this machine is in no network")
def test_a_portion_is_fetched_from_the_helper_itself(new_peers: Callable[[str], Peers]) -> None:
    peers = new_peers("peers-direct")
    helper = peers.member("helper", (0, FAMILIAR, NEW), settings=OPENS_PATHS)
    target = peers.member("target", (0, FAMILIAR), settings=OPENS_PATHS)
    peers.meets_what_it_never_saw(target)
    (transfer,) = peers.ends(peers.reaches("judged")["id"])["transfers"]
    assert (transfer["state"], transfer["way"], transfer["way_code"]) == ("kept", "direct", "transfer.fetched_directly")
    x, _ = samples(20, (NEW,), seed=7)
    assert target.predicted(x).count(NEW) >= 18
    sent = {entry["what"]: entry["bytes"] for entry in helper.status()["sent"]}
    assert sent["portion"] >= transfer["size_bytes"]  # it may have asked again since
    assert "direct path" in eventually(lambda: helper.status()["helped"])[0]["sentence"]


@pytest.mark.long
def test_a_helper_dies_while_serving_and_the_next_one_helps(new_peers: Callable[[str], Peers]) -> None:
    peers = new_peers("peers-death")
    with Proxy(peers.site.url) as proxy:
        first = peers.member("nearest", (0, FAMILIAR, NEW), url=proxy.url)
        second = peers.member("farther", (0, FAMILIAR, FAMILIAR, NEW, 4, 5))
        target = peers.member("target", (0, FAMILIAR))
        proxy.holds_uploads_after = proxy.uploaded_bytes + 2048
        peers.meets_what_it_never_saw(target)
        eventually(lambda: proxy.uploaded_bytes == proxy.holds_uploads_after)
        asked = peers.reaches("requested")
        first.kill()
        judged = peers.ends(asked["id"])
    states = {transfer["helper"]: transfer["state"] for transfer in judged["transfers"]}
    assert states == {first.id: "expired", second.id: "kept"}
    x, _ = samples(20, (NEW,), seed=7)
    assert target.predicted(x).count(NEW) >= 18
