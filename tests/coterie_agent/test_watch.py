"""What the watch tells: conditions and data, judged together."""

from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Row
from coterie_agent.watch import Watch
from coterie_wire.conditions import Requirements
from tests.coterie_agent.bundles import SPEC
from tests.coterie_agent.conftest import READY


def blockers(store: Store) -> list[str]:
    situation = Situation()
    situation.hold("v1", SPEC)
    watch = Watch(situation=situation, read=lambda: READY, owner=Requirements(), samples=store.samples, work=store.work)
    watch.look()
    return [reason.code for reason in situation.now.blockers]


def test_a_device_without_samples_says_so(store: Store) -> None:
    assert blockers(store) == ["data.no_samples"]


def test_samples_that_the_model_does_not_take(store: Store) -> None:
    store.samples.add([Row(bytes(16), 2)], max_samples=10)
    assert blockers(store) == []
    store.samples.add([Row(bytes(16), 999_999)], max_samples=10)
    assert blockers(store) == ["data.does_not_fit"]
