"""What the watch tells: conditions and data, judged together."""

from coterie_agent.conditions.reader import ReadConditions
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Row
from coterie_agent.watch import ProbeThread
from coterie_wire.conditions import Conditions, Requirements
from coterie_wire.messages import Progress
from tests.coterie_agent.bundles import SPEC
from tests.coterie_agent.conftest import READY


def watch_with(read: ReadConditions, situation: Situation, store: Store) -> ProbeThread:
    return ProbeThread(
        situation=situation,
        read=read,
        owner=Requirements(),
        samples=store.samples,
        work=store.work,
        choices=store.choices,
        free_bytes=lambda: 1 << 30,
    )


def blockers(store: Store) -> list[str]:
    situation = Situation()
    situation.hold("v1", SPEC)
    watch_with(lambda *, fresh: READY, situation, store).probe()
    return [reason.code for reason in situation.now.blockers]


def test_a_device_without_samples_says_so(store: Store) -> None:
    assert blockers(store) == ["data.no_samples"]


def test_samples_of_which_the_model_knows_no_label(store: Store) -> None:
    store.samples.add([Row(bytes(16), 999_999)], max_samples=10)
    store.samples.fit(SPEC.classes)
    assert blockers(store) == ["data.does_not_fit"]
    store.samples.add([Row(bytes(16), 2)], max_samples=10)
    assert blockers(store) == [], "those that it knows are trained on"


def test_conditions_are_fresh_while_it_trains(store: Store) -> None:
    asked: list[bool] = []

    def read(*, fresh: bool) -> Conditions:
        asked.append(fresh)
        return READY

    situation = Situation()
    watch = watch_with(read, situation, store)
    for progress in (None, Progress("a1", "training", 1, 9), Progress("a1", "waiting", 1, 9)):
        situation.report(progress)
        watch.probe()
    assert asked == [False, True, False]


def test_hours_follow_the_clock_on_the_wall(store: Store) -> None:
    store.samples.add([Row(bytes(16), 2)], max_samples=10)
    situation, hour = Situation(), [12]
    watch = ProbeThread(
        situation=situation,
        read=lambda *, fresh: READY,
        owner=Requirements(hours=(22, 7)),
        samples=store.samples,
        work=store.work,
        choices=store.choices,
        free_bytes=lambda: 1 << 30,
        local_hour=lambda: hour[0],
    )
    watch.probe()
    assert [reason.code for reason in situation.now.blockers] == ["conditions.outside_hours"]
    hour[0] = 23
    watch.probe()
    assert situation.now.blockers == ()


def test_a_full_disk_is_a_reason_to_wait(store: Store) -> None:
    store.samples.add([Row(bytes(16), 2)], max_samples=10)
    situation, free = Situation(), [1 << 20]
    watch = watch_with(lambda *, fresh: READY, situation, store)
    watch.free_bytes = lambda: free[0]
    watch.probe()
    (reason,) = situation.now.blockers
    assert (reason.code, reason.sentence) == (
        "store.full",
        "the device's disk is full: 1 MiB are free, 8 MiB are needed",
    )
    free[0] = 1 << 30
    watch.probe()
    assert situation.now.blockers == ()
