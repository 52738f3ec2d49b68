"""The whole agent against a platform on loopback: rounds, lost conditions, lost links, lost power."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from coterie_agent.budget_consent import Agreed
from coterie_agent.commands import Arguments
from coterie_agent.commands.agree import OwnersAnswer
from coterie_agent.commands.agree import run as run_agree
from coterie_agent.config import Config
from coterie_agent.errors import Exit
from coterie_agent.home import Home
from coterie_agent.report import Consented, make_report, status_lines, why_lines
from coterie_agent.store.agreements import AskedOfOwner
from coterie_agent.store.database import Database, StoreFull
from coterie_agent.store.opened import Store
from coterie_agent.store.peers import Tuned
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.store.samples import Row
from coterie_agent.store.work import Spooled, StreamPart, WorkStore
from coterie_learning.client.training import Progress
from coterie_learning.codec.int8 import Int8
from coterie_learning.consent import WORDS
from coterie_learning.local import StepScalars
from coterie_learning.local.sgd import Sgd
from coterie_wire.conditions import Reason
from coterie_wire.contract import input_size
from coterie_wire.messages import OfferUpdate, PrivacyBudget, ReleaseAssignment
from coterie_wire.structs import from_json
from tests.coterie_agent.bundles import SPEC
from tests.coterie_agent.conftest import OFFLINE, READY, UNPLUGGED, Agent, stock
from tests.coterie_agent.fake_platform import PLAN, Denied, FakePlatform
from tests.own_kind import count_as_own_kind

NewAgent = Callable[..., Agent]
pytestmark = pytest.mark.usefixtures("stocked")


@pytest.mark.parametrize("sockets", [True, False])
def test_a_round_is_trained_and_its_update_accepted(platform: FakePlatform, new_agent: NewAgent, sockets: bool) -> None:
    platform.sockets_allowed = sockets
    platform.check_in_s = 0.2
    new_agent().start()
    platform.assign("a1")
    platform.wait_for(lambda: "a1" in platform.accepted)
    offer = platform.offers["a1"]
    assert offer.steps_done == offer.steps_total == 3 * -(-offer.samples // SPEC.batch_size)
    assert 40 <= offer.samples <= 55
    assert offer.loss_after < offer.loss_before
    update = Int8().decode(platform.accepted["a1"], expected=SPEC.parameters)
    assert all(np.abs(tensor).max() > 0 for tensor in update.values())


def test_a_label_that_the_model_does_not_know_is_set_aside_and_the_rest_is_trained_on(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, caplog: pytest.LogCaptureFixture
) -> None:
    stocked.samples.add([Row(bytes(4 * input_size(SPEC)), SPEC.classes)], max_samples=100)
    new_agent().start()
    platform.assign("a1")
    platform.wait_for(lambda: "a1" in platform.accepted)
    assert 40 <= platform.offers["a1"].samples <= 55
    assert (stocked.samples.count(), stocked.samples.set_aside()) == (61, 1)
    assert "samples that are set aside" in caplog.text


LONG = {**PLAN, "local": {"kind": "sgd", "epochs": 500, "learning_rate": 0.01}}


def trains(agent: Agent) -> bool:
    progress = agent.situation.now.progress
    return progress is not None and progress.stage == "training" and progress.steps_done > 0


def until(agent: Agent, condition: Callable[[], object]) -> None:
    """Wait for the agent's own situation, not for the platform."""
    while not condition():
        edition = agent.situation.now.edition
        assert not agent.situation.now.stopping
        if not condition():
            agent.situation.wait(edition, 20)
            assert agent.situation.now.edition > edition or condition()


def stages(platform: FakePlatform) -> list[str]:
    return [check_in.progress.stage for check_in in platform.check_ins if check_in.progress]


def test_lost_conditions_hold_training_and_their_return_resumes_it(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    agent = new_agent().start()
    platform.assign("a1", plan=LONG)
    until(agent, lambda: trains(agent))
    agent.conditions = UNPLUGGED
    platform.wait_for(lambda: stages(platform)[-1:] == ["waiting"])
    assert [reason.code for reason in platform.check_ins[-1].blockers] == ["conditions.on_battery"]
    checkpoint = stocked.work.checkpoint()
    assert checkpoint is not None
    assert from_json(checkpoint.client, Progress).steps_done > 0
    agent.conditions = READY
    platform.wait_for(lambda: "a1" in platform.accepted)
    assert platform.offers["a1"].steps_done == platform.offers["a1"].steps_total


def test_a_stopped_agent_goes_on_where_it_was(platform: FakePlatform, new_agent: NewAgent, stocked: Store) -> None:
    first = new_agent().start()
    platform.assign("a1", plan=LONG)
    until(first, lambda: trains(first))
    first.stop()
    checkpoint = stocked.work.checkpoint()
    assert checkpoint is not None
    assert from_json(checkpoint.client, Progress).steps_done > 0
    new_agent().start()
    platform.wait_for(lambda: "a1" in platform.accepted)
    assert platform.offers["a1"].loss_before == checkpoint.progress.loss_before


class FullTwice(WorkStore):
    """On a disk that has room for an update at the third attempt."""

    attempts = 0

    def spool(
        self,
        spooled: Spooled,
        *,
        own: PersonalTensors | None = None,
        tuned: Tuned | None = None,
        part: StreamPart | None = None,
    ) -> None:
        self.attempts += 1
        if self.attempts < 3:
            raise StoreFull(Path("store.sqlite3"))
        super().spool(spooled, own=own, tuned=tuned, part=part)


def test_a_full_disk_is_waited_out_and_said(
    platform: FakePlatform, home: Home, stocked: Store, joined: Store, caplog: pytest.LogCaptureFixture
) -> None:
    platform.check_in_s = 0.2
    with closing(Database(home.database)) as database:
        work = FullTwice(database)
        agent = Agent(home, replace(stocked, work=work), Config(local_api=False)).start()
        platform.assign("a1")
        platform.wait_for(lambda: "a1" in platform.accepted)
        agent.stop()
    assert (work.attempts, agent.error) == (3, None)
    assert caplog.text.count("the disk is full") == 1, "not at each attempt"


def test_a_broken_upload_resumes_where_it_ended(platform: FakePlatform, new_agent: NewAgent) -> None:
    platform.chunk_limit = 100
    platform.check_in_s = 0.2
    new_agent().start()
    platform.assign("a1")
    platform.wait_for(lambda: "a1" in platform.accepted)
    assert len(platform.accepted["a1"]) == platform.offers["a1"].size_bytes


def test_an_update_is_offered_again_after_its_receipt_was_lost(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    def lose_receipt(path: str) -> None:
        if "a1" in platform.accepted:
            platform.fault = None
            return
        if "uploads" in path:
            raise ConnectionError

    agent = new_agent()
    platform.fault = lose_receipt
    agent.start()
    platform.assign("a1")
    platform.wait_for(lambda: "a1" in platform.offers)
    with platform.seen:
        platform.accepted["a1"] = b""
        platform.assignment = None
    until(agent, lambda: stocked.work.is_finished("a1"))
    assert stocked.work.outcomes()[0].outcome == "accepted"
    assert stocked.work.states("digits").keys() == {"codec"}


def test_a_device_that_is_in_no_federation_any_more_forgets_its_states(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    agent = new_agent().start()
    platform.assign("a1")
    until(agent, lambda: stocked.work.is_finished("a1"))
    assert stocked.work.states("digits")
    platform.member = False
    platform.wake()
    until(agent, lambda: not stocked.work.states("digits"))


def test_a_closed_round_drops_the_update_and_keeps_the_old_states(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    def closed(path: str) -> None:
        if "offer" in path:
            raise Denied(409, "rounds.assignment_closed", "the round has closed")

    platform.fault = closed
    agent = new_agent().start()
    platform.assign("a1")
    until(agent, lambda: stocked.work.is_finished("a1"))
    (finished,) = stocked.work.outcomes()
    assert (finished.outcome, finished.sentence) == ("dropped", "the round has closed")
    assert stocked.work.states("digits") == {}
    assert stocked.work.current() is None


def test_partial_work_is_uploaded_before_the_round_closes(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    stock(stocked, 900)
    endless = {**PLAN, "local": {"kind": "sgd", "epochs": 1000, "learning_rate": 1e-6}}
    agent = new_agent()
    agent.start()
    platform.assign("a1", plan=endless, remaining_s=1.5)
    platform.wait_for(lambda: "a1" in platform.accepted)
    offer = platform.offers["a1"]
    assert 0 < offer.steps_done < offer.steps_total


def test_an_assignment_that_is_taken_back_is_dropped(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    agent = new_agent().start()
    platform.assign("a1", plan=LONG)
    until(agent, lambda: trains(agent))
    platform.assignment = None
    platform.wake()
    until(agent, lambda: stocked.work.is_finished("a1"))
    assert not platform.uploads


def test_an_assignment_that_cannot_be_trained_is_given_back(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    new_agent().start()
    platform.assign("a1", plan={**PLAN, "local": {"kind": "unheard-of"}})
    platform.wait_for(lambda: any(isinstance(message, ReleaseAssignment) for message in platform.received))
    (release,) = (message for message in platform.received if isinstance(message, ReleaseAssignment))
    assert release.reason.code == "plan.unknown_kind"


def test_an_assignment_whose_own_kind_fails_is_given_back_and_the_agent_goes_on(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Sgd, step: int) -> StepScalars:
        return StepScalars(learning_rate=1 / (2 - step))

    agent = new_agent().start()
    with monkeypatch.context() as patch:
        count_as_own_kind(patch, __name__)
        patch.setattr(Sgd, "step_scalars", broken)
        platform.assign("a1")
        platform.wait_for(lambda: any(isinstance(message, ReleaseAssignment) for message in platform.received))
    (release,) = (message for message in platform.received if isinstance(message, ReleaseAssignment))
    assert release.reason.code == "kinds.failed"
    assert release.reason.sentence.startswith("acme-kinds 1.0 failed in ")
    assert release.reason.sentence.endswith(" of test_runner.py: ZeroDivisionError: division by zero")
    until(agent, lambda: stocked.work.is_finished("a1"))
    platform.assign("a2")
    platform.wait_for(lambda: "a2" in platform.accepted)


def test_a_finished_assignment_that_an_old_answer_names_is_not_trained_again(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    agent = new_agent().start()
    platform.assign("a1")
    platform.wait_for(lambda: "a1" in platform.accepted)
    until(agent, lambda: stocked.work.is_finished("a1"))
    platform.assign("a1")
    check_ins = len(platform.check_ins)
    platform.wake()
    platform.wait_for(lambda: len(platform.check_ins) > check_ins)
    assert stocked.work.current() is None
    assert len(platform.offers) == 1
    assert not any(isinstance(message, ReleaseAssignment) for message in platform.received)


def test_a_finished_assignment_that_the_platform_goes_on_naming_is_given_back(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    """After a restored backup nobody waits for an update that was lost with what was written since."""
    platform.check_in_s = 0.1
    agent = new_agent().start()
    platform.assign("a1")
    platform.wait_for(lambda: "a1" in platform.accepted)
    until(agent, lambda: stocked.work.is_finished("a1"))
    platform.assign("a1")
    platform.wait_for(lambda: any(isinstance(message, ReleaseAssignment) for message in platform.received))
    (release,) = (message for message in platform.received if isinstance(message, ReleaseAssignment))
    assert (release.assignment, release.reason.code) == ("a1", "agent.ended_before")
    assert len(platform.offers) == 1
    platform.assign("a2")
    platform.wait_for(lambda: "a2" in platform.accepted)


def test_the_champion_is_fetched_and_not_over_a_missing_network(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    platform.champion = True
    agent = new_agent()
    agent.conditions = OFFLINE
    agent.start()
    platform.wait_for(lambda: platform.check_ins)
    assert not platform.blob_ranges
    agent.conditions = READY
    platform.wait_for(lambda: platform.check_ins[-1].version == "v1")
    assert stocked.work.held_model() == platform.bundle.signed


def test_a_version_that_lost_a_part_is_fetched_again(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, home: Home
) -> None:
    platform.champion = True
    first = new_agent().start()
    platform.wait_for(lambda: platform.check_ins and platform.check_ins[-1].version == "v1")
    first.stop()
    (home.blobs / platform.bundle.manifest.predict.sha256).write_bytes(b"cut short")
    check_ins = len(platform.check_ins)
    new_agent().start()
    platform.wait_for(lambda: len(platform.check_ins) > check_ins and platform.check_ins[-1].version == "v1")
    assert platform.check_ins[check_ins].version is None


def test_a_platform_that_keeps_nothing_is_left_alone_for_a_while(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    platform.forgetful = True
    platform.check_in_s = 0.2
    agent = new_agent().start()
    platform.assign("a1")
    platform.wait_for(lambda: sum(isinstance(message, OfferUpdate) for message in platform.received) > 1)
    platform.forgetful = False
    platform.wait_for(lambda: "a1" in platform.accepted)
    until(agent, lambda: stocked.work.is_finished("a1"))


def test_a_revoked_device_ends_and_keeps_its_samples(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    def revoked(path: str) -> None:
        raise Denied(401, "fleet.revoked", "this device was revoked")

    platform.sockets_allowed = False
    platform.fault = revoked
    agent = new_agent().start()
    agent.join()
    assert agent.error is not None
    assert agent.error.exit_code is Exit.REVOKED
    assert stocked.samples.count() == 60
    status = stocked.journal.status()
    assert status is not None and status.ended == Reason("fleet.revoked", "this device was revoked")


def test_a_lost_socket_is_opened_again(platform: FakePlatform, new_agent: NewAgent) -> None:
    platform.check_in_s = 0.2
    new_agent().start()
    platform.wait_for(lambda: platform.socket_count == 1 and platform.check_ins)
    platform.cut_sockets()
    platform.wait_for(lambda: platform.socket_count == 2)


def test_everything_that_leaves_is_recorded(platform: FakePlatform, new_agent: NewAgent, stocked: Store) -> None:
    new_agent().start()
    platform.assign("a1")
    platform.wait_for(lambda: "a1" in platform.accepted)
    sent = {sent.what: sent for sent in stocked.journal.sent_totals()}
    assert sent["update"].bytes == platform.offers["a1"].size_bytes
    assert {"check-in", "offer-update", "update"} <= sent.keys()


APART = {**PLAN, "privacy": {"kind": "correlated_noise", "separation_rounds": 3}}


def given_back(platform: FakePlatform, name: str) -> str | None:
    """The code with which the device gave an assignment back."""
    releases = (message for message in platform.received if isinstance(message, ReleaseAssignment))
    return next((release.reason.code for release in releases if release.assignment == name), None)


def test_a_device_refuses_a_part_too_near_to_its_last_also_after_a_restart(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    agent = new_agent().start()
    platform.assign("a5", plan=APART, stream_index=5)
    platform.wait_for(lambda: "a5" in platform.accepted)
    until(agent, lambda: stocked.work.is_finished("a5"))
    platform.assign("a7", plan=APART, stream_index=7)
    platform.wait_for(lambda: given_back(platform, "a7"))
    until(agent, lambda: stocked.work.is_finished("a7"))
    agent.stop()
    again = new_agent().start()
    for name, index in (("b7", 7), ("b4", 4)):  # a platform that has lost count is refused, too
        platform.assign(name, plan=APART, stream_index=index)
        platform.wait_for(lambda name=name: given_back(platform, name))
        until(again, lambda name=name: stocked.work.is_finished(name))
        assert given_back(platform, name) == "privacy.too_soon"
    for name, index in (("c5", 5), ("a8", 8)):  # the round of number 5 came to nothing and is held again
        platform.assign(name, plan=APART, stream_index=index)
        platform.wait_for(lambda name=name: name in platform.accepted)
        until(again, lambda name=name: stocked.work.is_finished(name))
    assert given_back(platform, "a7") == "privacy.too_soon"
    assert set(platform.offers) == {"a5", "c5", "a8"}, "it trains for none that it refuses"


def test_a_part_whose_update_came_too_late_is_none(platform: FakePlatform, new_agent: NewAgent, stocked: Store) -> None:
    def closed(path: str) -> None:
        if "offer" in path:
            assert stocked.work.latest_part("digits", 3, but="") == 5, "written down before anything is sent"
            raise Denied(409, "rounds.assignment_closed", "the round has closed")

    platform.fault = closed
    agent = new_agent().start()
    platform.assign("a5", plan=APART, stream_index=5)
    until(agent, lambda: stocked.work.is_finished("a5"))
    platform.fault = None
    platform.assign("a6", plan=APART, stream_index=6)
    platform.wait_for(lambda: "a6" in platform.accepted)


def test_a_part_that_is_not_numbered_is_refused_where_parts_must_be_apart(
    platform: FakePlatform, new_agent: NewAgent
) -> None:
    new_agent().start()
    platform.assign("a1", plan=APART)
    platform.wait_for(lambda: given_back(platform, "a1"))
    assert given_back(platform, "a1") == "privacy.not_numbered"


@pytest.mark.long
def test_a_round_that_would_tell_more_than_the_owner_allows_is_refused_and_said_so(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, home: Home
) -> None:
    """Of noise 2 the owner's budget pays for two parts, whatever the platform counts."""
    noisy = {**PLAN, "privacy": {"kind": "central_noise", "noise_multiplier": 2.0}}
    agent = new_agent(privacy={"epsilon": 3.5}).start()
    for name in ("a1", "a2"):
        platform.assign(name, plan=noisy)
        platform.wait_for(lambda name=name: name in platform.accepted)
        until(agent, lambda name=name: stocked.work.is_finished(name))
    assert agent.situation.now.budget_wait is None
    platform.assign("a3", plan=noisy)
    platform.wait_for(lambda: given_back(platform, "a3"))
    until(agent, lambda: stocked.work.is_finished("a3"))
    assert given_back(platform, "a3") == "privacy.device_budget"
    until(agent, lambda: "[privacy.device_budget]" in " ".join(why_lines(make_report(home, stocked))))
    platform.assign("a4", plan=PLAN)  # what tells nothing under noise is not refused
    platform.wait_for(lambda: "a4" in platform.accepted)
    assert agent.situation.now.budget_wait is None
    assert set(platform.offers) == {"a1", "a2", "a4"}, "it trains for none that it refuses"


def test_a_raised_budget_waits_for_the_owner_where_the_owner_wants_to_be_asked(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, home: Home
) -> None:
    noisy = {**PLAN, "privacy": {"kind": "central_noise", "noise_multiplier": 8.0}}
    agent = new_agent(privacy={"raised": "ask"}).start()
    for name, most in (("a1", 8.0), ("a2", 9.0)):
        platform.assign(name, plan=noisy, budget=PrivacyBudget(most, 1e-6))
        until(agent, lambda name=name: stocked.work.is_finished(name))
    assert given_back(platform, "a2") == "privacy.budget_raised"
    assert "[privacy.budget_raised]" in " ".join(why_lines(make_report(home, stocked)))
    done = run_agree(Arguments(command="agree", home=home.root, federation="digits"))
    assert done.json == OwnersAnswer(True, (), (Agreed("digits", 9.0, 1e-6),))
    assert "budget_raised" not in " ".join(why_lines(make_report(home, stocked)))
    platform.assign("a3", plan=noisy, budget=PrivacyBudget(9.0, 1e-6))
    platform.wait_for(lambda: "a3" in platform.accepted)
    assert set(platform.offers) == {"a1", "a3"}


@pytest.mark.parametrize("agreed", [("summed",)])
def test_nothing_is_done_under_a_plan_that_asks_more_before_its_owner_agrees(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store, home: Home
) -> None:
    agent = new_agent().start()
    platform.assign("a1", plan=PLAN)
    until(agent, lambda: stocked.work.is_finished("a1"))
    assert given_back(platform, "a1") == "owner.not_agreed"
    report = make_report(home, stocked)
    assert report.consent == Consented(("summed",), (AskedOfOwner("digits", ("readable",)),))
    assert "[owner.not_agreed]" in " ".join(why_lines(report))
    assert "coterie-agent agree digits" in " ".join(status_lines(report))
    assert run_agree(Arguments(command="agree", home=home.root, json=True)).json == OwnersAnswer(
        False, report.consent.asked, ()
    )
    assert stocked.agreements.scopes() == ("summed",), "to be told is not to agree"
    assert run_agree(Arguments(command="agree", home=home.root, yes=True)).json == OwnersAnswer(
        True, report.consent.asked, ()
    )
    assert "not_agreed" not in " ".join(why_lines(make_report(home, stocked)))
    platform.assign("a2", plan=PLAN)
    platform.wait_for(lambda: "a2" in platform.accepted)
    assert set(platform.offers) == {"a2"}, "it trains for none that it refuses"
    first, second = stocked.agreements.editions()
    assert (first.scopes, second.scopes, second.how) == (("summed",), ("readable", "summed"), "unattended")
    assert WORDS["readable"] in second.read and second.at >= first.at


@pytest.mark.parametrize("agreed", [()])
def test_settings_that_accept_what_plans_ask_say_so_in_an_edition(
    platform: FakePlatform, new_agent: NewAgent, stocked: Store
) -> None:
    new_agent(consent={"more": "accept"}).start()
    platform.assign("a1", plan=PLAN)
    platform.wait_for(lambda: "a1" in platform.accepted)
    edition = stocked.agreements.editions()[-1]
    assert (edition.how, edition.scopes) == ("settings", ("readable",))
    assert stocked.agreements.pending() == ()
