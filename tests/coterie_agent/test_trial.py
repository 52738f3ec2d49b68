"""A device in a canary group: it holds the candidate, compares it with the champion once, and tells the outcome."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from coterie_agent.store.opened import Store
from coterie_wire.bundle import SignedManifest, sign_manifest
from tests.coterie_agent.bundles import make_bundle
from tests.coterie_agent.conftest import READY, UNPLUGGED, Agent
from tests.coterie_agent.fake_platform import FakePlatform

NewAgent = Callable[..., Agent]
pytestmark = pytest.mark.usefixtures("stocked")
CANDIDATE = make_bundle(version="v2", number=2, seed=5)


def offer(platform: FakePlatform, agent: Agent) -> None:
    """The device holds the champion, then it is told to try a candidate."""
    platform.champion, platform.check_in_s = True, 0.1
    agent.start()
    platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
    with platform.seen:
        platform.candidate = CANDIDATE
    platform.wake()


def test_both_versions_are_measured_on_the_same_samples(platform: FakePlatform, new_agent: NewAgent) -> None:
    offer(platform, new_agent())
    platform.wait_for(lambda: platform.reports)
    (report,) = platform.reports
    assert report.compared is not None
    assert 5 <= report.compared.samples <= 20
    assert report.compared.champion.loss != report.compared.candidate.loss
    for fit in (report.compared.champion, report.compared.candidate):
        assert fit.accuracy is not None
        # Of whole samples: both shares have the same denominator.
        assert fit.accuracy * report.compared.samples == pytest.approx(round(fit.accuracy * report.compared.samples))


def test_it_waits_for_the_devices_conditions_and_is_told_once(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    agent = new_agent(policy={"charging": True})
    offer(platform, agent)
    agent.conditions = UNPLUGGED
    platform.wait_for(lambda: platform.check_ins[-1].version == "v2" or platform.reports)
    agent.conditions = READY
    platform.wait_for(lambda: platform.reports)
    seen = len(platform.check_ins)
    platform.wait_for(lambda: len(platform.check_ins) > seen + 2)
    assert len(platform.reports) == 1


def test_what_a_sum_is_to_hide_is_not_told_of_a_trial_either(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    platform.assign("a0")
    assert platform.assignment is not None
    stocked.work.accept(platform.assignment, is_masked=True)
    stocked.work.finish("dropped", "the round was over", now=1.0)
    platform.assignment = None
    stocked.journal.measure("train_step_s", 0.25)
    offer(platform, new_agent())
    platform.wait_for(lambda: platform.check_ins[-1].version == "v2")
    seen = len(platform.check_ins)
    platform.wait_for(lambda: len(platform.check_ins) > seen + 5)
    assert platform.reports == []
    assert all(one.capabilities is None or one.capabilities.train_step_s is None for one in platform.check_ins)


def test_a_rolled_back_candidate_leaves_without_a_download(platform: FakePlatform, new_agent: NewAgent) -> None:
    offer(platform, new_agent())
    platform.wait_for(lambda: platform.reports)
    fetched = len(platform.blob_ranges)
    with platform.seen:
        platform.candidate = None
    platform.wait_for(lambda: platform.check_ins[-1].version == "v1")
    assert len(platform.blob_ranges) == fetched


def test_a_candidate_that_cannot_be_used_is_reported_as_such(platform: FakePlatform, new_agent: NewAgent) -> None:
    forged = sign_manifest(CANDIDATE.manifest, bytes(32))
    agent = new_agent()
    platform.champion, platform.check_in_s = True, 0.1
    agent.start()
    platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
    with platform.seen:
        platform.candidate = replace(CANDIDATE, signed=SignedManifest(forged.manifest, forged.signature))
    platform.wait_for(lambda: platform.reports)
    assert platform.reports[0].fault is not None
    assert platform.reports[0].fault.code == "bundle.bad_signature"
    platform.wait_for(lambda: platform.check_ins[-1].version == "v1")
