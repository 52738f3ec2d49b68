"""A device's part in a federated evaluation: it measures another version beside its own, and tells the figures once."""

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Row
from coterie_agent.training.evaluating import evaluate_version
from coterie_agent.training.model import Model
from coterie_wire.bundle import SignedManifest, sign_manifest
from coterie_wire.evaluating import ReportEvaluation
from coterie_wire.messages import Assignment
from tests.coterie_agent.bundles import Bundle, make_bundle, samples
from tests.coterie_agent.conftest import READY, UNPLUGGED, Agent
from tests.coterie_agent.fake_platform import PLAN, FakePlatform

NewAgent = Callable[..., Agent]
OTHER = make_bundle(version="v2", number=2, seed=5)


def stored(bundle: Bundle, home: Home) -> Model:
    """The bundle's version, with its files on the device."""
    home.create()
    blobs = BlobCache(home.blobs)
    for ref in (bundle.manifest.train_step, bundle.manifest.predict, bundle.manifest.parameters):
        blobs.keep(ref, bundle.blobs[ref.sha256])
    return Model(bundle.manifest, blobs)


def measured(
    store: Store, model: Model, *, stop: Callable[[], bool] = lambda: False, checkpoint_s: float = 60
) -> ReportEvaluation | None:
    return evaluate_version(
        "e1",
        model=model,
        samples=store.samples,
        store=store.evaluating,
        threads=1,
        checkpoint_s=checkpoint_s,
        stop=stop,
        rest=lambda _: None,
    )


def add(store: Store, count: int) -> None:
    features, labels = samples(count)
    rows = [Row(x.tobytes(), int(label)) for x, label in zip(features, labels, strict=True)]
    store.samples.add(rows, max_samples=10_000)


def stops_after(looks: int) -> Callable[[], bool]:
    """Says yes when it is asked for the next time after so many."""
    left = iter(range(looks))
    return lambda: next(left, None) is None


class Killed(Exception):
    """As a flat battery would."""


def dies_after(looks: int) -> Callable[[], bool]:
    left = iter(range(looks))

    def look() -> bool:
        if next(left, None) is None:
            raise Killed
        return False

    return look


def test_interrupted_and_killed_anywhere_it_tells_the_same_figures(store: Store, home: Home) -> None:
    add(store, 900)
    model = stored(OTHER, home)
    whole = measured(store, model)
    assert whole is not None and whole.fit is not None
    assert 120 < whole.samples < 240
    for looks in range(1, 5):
        assert measured(store, model, stop=stops_after(looks)) is None
        found = store.evaluating.load("e1")
        assert found is not None and found.seen == 32 * looks
        assert measured(store, model) == whole
        store.evaluating.delete()
        with pytest.raises(Killed):
            measured(store, model, stop=dies_after(looks), checkpoint_s=0)
        assert store.evaluating.load("e1") is not None
        assert measured(store, model) == whole
        store.evaluating.delete()


def test_samples_that_came_later_are_not_part_of_it_and_lost_ones_begin_it_anew(store: Store, home: Home) -> None:
    add(store, 300)
    model = stored(OTHER, home)
    whole = measured(store, model)
    assert measured(store, model, stop=stops_after(1)) is None
    add(store, 300)
    assert measured(store, model) == whole
    store.evaluating.delete()
    assert measured(store, model, stop=stops_after(1)) is None
    store.samples.add([Row(samples(1)[0][0].tobytes(), 0)], max_samples=200)
    again = measured(store, model)
    assert again is not None and whole is not None
    assert again.samples < 60


def test_a_device_without_samples_says_so(store: Store, home: Home) -> None:
    with pytest.raises(AgentError) as caught:
        measured(store, stored(OTHER, home))
    assert caught.value.code == "data.no_samples"


def test_what_the_disk_has_damaged_is_measured_again(stocked: Store, home: Home) -> None:
    model = stored(OTHER, home)
    whole = measured(stocked, model)
    assert measured(stocked, model, stop=stops_after(0)) is None
    with stocked.evaluating._database.transaction() as cursor:
        cursor.execute("UPDATE evaluating SET content = replace(content, '\"seen\":0', '\"seen\":9')")
    assert stocked.evaluating.load("e1") is None
    assert measured(stocked, model) == whole


def offer(platform: FakePlatform, agent: Agent, version: Bundle = OTHER) -> None:
    """The device holds the champion, then it is asked to evaluate another version."""
    platform.champion, platform.check_in_s = True, 0.1
    agent.start()
    platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
    with platform.seen:
        platform.evaluated = version
    platform.wake()


@pytest.mark.usefixtures("stocked")
class TestAgent:
    """The whole agent, with a platform on loopback."""

    def test_it_measures_another_version_and_keeps_its_own(
        self, platform: FakePlatform, new_agent: NewAgent, joined: Store, home: Home
    ) -> None:
        offer(platform, new_agent())
        platform.wait_for(lambda: platform.evaluations)
        (report,) = platform.evaluations
        assert report.fit is not None and report.fit.accuracy is not None
        assert 5 <= report.samples <= 20
        assert report.fit.accuracy * report.samples == pytest.approx(round(report.fit.accuracy * report.samples))
        platform.wait_for(lambda: platform.capabilities.evaluates)
        assert platform.check_ins[-1].version == "v1"
        assert not BlobCache(home.blobs).has(OTHER.manifest.parameters)
        assert BlobCache(home.blobs).has(platform.bundle.manifest.parameters)
        seen = len(platform.check_ins)
        platform.wait_for(lambda: len(platform.check_ins) > seen + 2)
        assert joined.evaluating.load("e1") is None
        assert len(platform.evaluations) == 1

    def test_it_waits_for_its_conditions(self, platform: FakePlatform, new_agent: NewAgent) -> None:
        agent = new_agent(policy={"charging": True})
        platform.champion, platform.check_in_s = True, 0.1
        agent.start()
        platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
        agent.conditions = UNPLUGGED
        platform.wait_for(lambda: platform.check_ins[-1].blockers)
        with platform.seen:
            platform.evaluated = OTHER
        seen = len(platform.check_ins)
        platform.wait_for(lambda: len(platform.check_ins) > seen + 3)
        assert not platform.evaluations
        agent.conditions = READY
        platform.wait_for(lambda: platform.evaluations)

    def test_an_agent_that_starts_again_tells_what_it_had_measured(
        self, platform: FakePlatform, new_agent: NewAgent, joined: Store
    ) -> None:
        def cut(path: str) -> None:
            if path.endswith("report-evaluation"):
                raise ConnectionError

        platform.fault, platform.sockets_allowed = cut, False
        first = new_agent()
        offer(platform, first)
        platform.wait_for(lambda: (found := joined.evaluating.load("e1")) is not None and found.report is not None)
        first.stop()
        found = joined.evaluating.load("e1")
        assert found is not None
        platform.fault = None
        new_agent().start()
        platform.wait_for(lambda: platform.evaluations)
        assert platform.evaluations[0] == found.report

    def test_a_version_that_cannot_be_used_is_told(self, platform: FakePlatform, new_agent: NewAgent) -> None:
        forged = sign_manifest(OTHER.manifest, bytes(32))
        offer(platform, new_agent(), replace(OTHER, signed=SignedManifest(forged.manifest, forged.signature)))
        platform.wait_for(lambda: platform.evaluations)
        (report,) = platform.evaluations
        assert report.fault is not None
        assert report.fault.code == "bundle.bad_signature"

    def test_a_device_whose_figures_are_hidden_in_sums_tells_none(
        self, platform: FakePlatform, new_agent: NewAgent, joined: Store, bundle: Bundle
    ) -> None:
        plan = msgspec.Raw(msgspec.json.encode(PLAN))
        joined.work.accept(Assignment("a0", "digits", 1, plan, bundle.signed, 1, 60.0), is_masked=True)
        joined.work.finish("dropped", "over", now=0)
        offer(platform, new_agent())
        platform.wait_for(lambda: platform.evaluations)
        (report,) = platform.evaluations
        assert report.fault is not None
        assert report.fault.code == "evaluation.masked"
