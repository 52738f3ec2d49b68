"""A device in a canary group whose candidate is not shown: it holds both, compares them, and tells the outcome once."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from coterie_agent.blobs import BlobCache
from coterie_agent.home import Home
from coterie_agent.store.opened import Store
from coterie_agent.store.shadow import ShadowFigures
from coterie_wire.bundle import SignedManifest, sign_manifest
from coterie_wire.latency import Histogram
from tests.coterie_agent.bundles import Bundle, make_bundle
from tests.coterie_agent.conftest import Agent
from tests.coterie_agent.fake_platform import FakePlatform

NewAgent = Callable[..., Agent]
pytestmark = pytest.mark.usefixtures("stocked")
CANDIDATE = make_bundle(version="v2", number=2, seed=5)


def offer(platform: FakePlatform, agent: Agent, candidate: Bundle = CANDIDATE, *, shadow_s: float = 0.0) -> None:
    platform.champion, platform.check_in_s = True, 0.1
    agent.start()
    platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
    with platform.seen:
        platform.shadow, platform.shadow_s = candidate, shadow_s


def test_it_goes_on_holding_the_champion_and_tells_both_and_how_answers_compared(
    platform: FakePlatform, new_agent: NewAgent, joined: Store, home: Home
) -> None:
    offer(platform, new_agent(), shadow_s=60.0)
    platform.wait_for(lambda: joined.shadow.load() is not None)
    seen = len(platform.check_ins)
    platform.wait_for(lambda: len(platform.check_ins) > seen + 2)
    assert not platform.reports, "its time is not over"
    joined.shadow.add("r1", ShadowFigures(200, 150, Histogram((0, 10)), Histogram((20,))))
    with platform.seen:
        platform.shadow_s = 0.0
    platform.wait_for(lambda: platform.reports)
    (report,) = platform.reports
    assert report.compared is not None and report.shadowed is not None
    assert report.compared.champion.loss != report.compared.candidate.loss
    assert report.shadowed.agreement == 0.75
    assert (report.shadowed.champion, report.shadowed.candidate) == (Histogram((0, 1000)), Histogram((1000,)))
    assert {heard.version for heard in platform.check_ins[1:]} <= {None, "v1"}
    platform.wait_for(lambda: joined.shadow.load() is None)
    seen = len(platform.check_ins)
    platform.wait_for(lambda: len(platform.check_ins) > seen + 2)
    assert len(platform.reports) == 1
    assert BlobCache(home.blobs).has(CANDIDATE.manifest.parameters), "promoted, it would be there"


def test_without_programs_that_ask_it_is_compared_on_held_out_samples_alone(
    platform: FakePlatform, new_agent: NewAgent
) -> None:
    offer(platform, new_agent())
    platform.wait_for(lambda: platform.reports)
    (report,) = platform.reports
    assert report.compared is not None
    assert report.shadowed is None


def test_a_candidate_that_cannot_be_used_is_reported(platform: FakePlatform, new_agent: NewAgent) -> None:
    forged = sign_manifest(CANDIDATE.manifest, bytes(32))
    offer(platform, new_agent(), replace(CANDIDATE, signed=SignedManifest(forged.manifest, forged.signature)))
    platform.wait_for(lambda: platform.reports)
    assert platform.reports[0].fault is not None
    assert platform.reports[0].fault.code == "bundle.bad_signature"


def test_one_that_the_platform_takes_back_answers_no_more(
    platform: FakePlatform, new_agent: NewAgent, joined: Store
) -> None:
    offer(platform, new_agent(), shadow_s=60.0)
    platform.wait_for(lambda: joined.shadow.load() is not None)
    with platform.seen:
        platform.shadow = None
    platform.wait_for(lambda: joined.shadow.load() is None)
    assert not platform.reports
