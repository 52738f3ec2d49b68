"""What the agent does about itself: nothing that its owner has not allowed, and nothing that it has not verified."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from coterie_agent import VERSION
from coterie_agent.config import UpdateSettings
from coterie_agent.home import Home
from coterie_agent.site import RequestError
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store
from coterie_agent.updating.consent import ReleaseConsent, agree, release_consent
from coterie_agent.updating.owner_view import UpdateDecision, record_update_decision, updates_view
from coterie_agent.updating.pinning import pin_update_root
from coterie_agent.updating.thread import UpdatingThread
from coterie_agent.versions.state import Base, Versions, VersionState
from coterie_wire.message import Message
from coterie_wire.messages import Directive, Done, Progress
from coterie_wire.updating import AgentUpdate, ReportUpdate
from tests.coterie_agent.updating.signed import Signed, Way

UPDATE = AgentUpdate(update="u-1", version="9.0.0", probation_s=60.0)


class Link(Way):
    """The way to a platform that has asked for an update."""

    def __init__(self, root: Path, situation: Situation, ends_with: str) -> None:
        super().__init__(root)
        self.told: list[ReportUpdate] = []
        self._situation = situation
        self._ends_with = ends_with

    def call(self, message: Message, _reply: type[Done]) -> Done:
        assert isinstance(message, ReportUpdate)
        self.told.append(message)
        if message.outcome == self._ends_with:
            self._situation.stop()
        return Done()


class Agent:
    """The thread, in a situation in which the platform has just answered."""

    def __init__(self, home: Home, store: Store, signed: Signed) -> None:
        self.home, self.store = home, store
        self.situation = Situation()
        self.signed = signed
        pin_update_root(home, signed.root())

    def run(
        self,
        take: Literal["off", "ask", "on"] = "on",
        *,
        update: AgentUpdate = UPDATE,
        hours: tuple[int, int] | None = None,
        until: str = "refused",
        instead: bytes | None = None,
        on_trial: bool = False,
        at: float | None = None,
    ) -> list[tuple[str, str | None]]:
        """Outcomes and codes of what it tells the platform, until it tells `until`, or stops by itself."""
        link = Link(self.signed.repository.root, self.situation, until)
        if instead is not None:
            link.instead = {".whl": instead}
        self.situation.link("https")
        self.situation.set_directive(Directive(check_in_s=10.0, update=update), at=0.0)
        UpdatingThread(
            home=self.home,
            settings=UpdateSettings(take=take, hours=hours),
            work=self.store.work,
            link=link,  # type: ignore[arg-type]  # what of it is used
            situation=self.situation,
            on_trial=on_trial,
            local_hour=lambda: 12,  # type: ignore[arg-type]
            unix_time=time.time if at is None else lambda: at,
        ).run()
        return [(one.outcome, one.reason and one.reason.code) for one in link.told]


@pytest.fixture
def agent(home: Home, store: Store, tmp_path: Path) -> Iterator[Agent]:
    yield Agent(home, store, Signed(tmp_path / "operator"))


def test_an_owner_who_wants_none_gets_none(agent: Agent) -> None:
    assert agent.run("off") == [("refused", "updates.off")]


def test_an_owner_is_asked(agent: Agent) -> None:
    assert agent.run("ask", until="waiting") == [("waiting", "updates.asks_owner")]
    assert agent.situation.now.update_wait is not None


def test_an_owner_is_asked_about_what_was_verified(agent: Agent) -> None:
    agent.run("ask", until="waiting")
    view = updates_view(agent.home, UpdateSettings(), agent.situation.now)
    assert view.offer is not None and view.offer.version == "9.0.0" and len(view.offer.signed_by) == 1
    assert (view.agreed, view.put_off_until, view.last) == (False, None, None)
    assert view.waits == agent.situation.now.update_wait


def test_an_owner_is_not_asked_about_what_cannot_be_verified(agent: Agent, tmp_path: Path) -> None:
    agent.signed = Signed(tmp_path / "other")
    assert agent.run("ask") == [("refused", "updates.wrong_key")]
    view = updates_view(agent.home, UpdateSettings(), agent.situation.now)
    assert view.offer is None and view.last is not None and view.last.outcome == "refused"


def test_an_owner_who_does_not_want_it_now_is_not_asked_for_a_day(agent: Agent) -> None:
    agent.run("ask", until="waiting")
    record_update_decision(agent.home, UpdateDecision("later", "9.0.0"), agent.situation.now)
    until = updates_view(agent.home, UpdateSettings(), agent.situation.now).put_off_until
    assert until is not None and until > time.time() + 80_000
    agent.situation = Situation()
    assert agent.run("ask", until="waiting") == [("waiting", "updates.put_off")]
    agent.situation = Situation()
    assert agent.run("ask", until="waiting", at=until + 1) == [("waiting", "updates.asks_owner")]


def test_an_owner_who_agrees_to_all_gets_all_until_he_says_otherwise(agent: Agent) -> None:
    record_update_decision(agent.home, UpdateDecision("always"), agent.situation.now)
    assert release_consent(agent.home).why_not("9.7.0", now=0) is None
    assert agent.run("ask") == [("refused", "updates.not_installed")], "what was fetched is no wheel"
    record_update_decision(agent.home, UpdateDecision("ask"), agent.situation.now)
    assert release_consent(agent.home).why_not("9.7.0", now=0) is not None


@pytest.mark.parametrize("say", ["agree", "later"])
def test_a_word_on_what_is_not_offered_is_not_taken(agent: Agent, say: Literal["agree", "later"]) -> None:
    agent.run("ask", until="waiting")
    with pytest.raises(RequestError) as refused:
        record_update_decision(agent.home, UpdateDecision(say, "9.0.1"), agent.situation.now)
    assert refused.value.code == "updates.not_offered"
    assert release_consent(agent.home) == ReleaseConsent()


def test_a_word_that_the_disk_has_damaged_agrees_to_nothing(agent: Agent) -> None:
    agree(agent.home, "9.0.0")
    agent.home.agreed_updates.write_bytes(b"[")
    assert agent.run("ask", until="waiting") == [("waiting", "updates.asks_owner")]


def test_an_owner_who_agrees_gets_that_one(agent: Agent) -> None:
    agree(agent.home, "9.0.0")
    assert agent.run("ask") == [("refused", "updates.not_installed")], "what was fetched is no wheel"


def test_it_waits_for_the_owners_hours(agent: Agent) -> None:
    assert agent.run(hours=(2, 5), until="waiting") == [("waiting", "updates.hours")]


def test_it_waits_until_the_round_has_the_work(agent: Agent) -> None:
    agent.situation.report(Progress(assignment="a-1", stage="training"))
    assert agent.run(until="waiting") == [("waiting", "updates.at_work")]


def test_without_pinned_keys_there_is_nothing_to_verify_by(agent: Agent) -> None:
    pin_update_root(agent.home, None)
    assert agent.run() == [("refused", "updates.no_root")]


@pytest.mark.parametrize("version", [VERSION, "0.1"])
def test_an_older_one_is_refused(agent: Agent, version: str) -> None:
    update = msgspec.structs.replace(UPDATE, version=version)
    assert agent.run(update=update) == [("refused", "updates.not_newer")]


def test_what_was_altered_is_refused_kept_in_mind_and_changes_nothing(agent: Agent) -> None:
    assert agent.run(instead=b"another") == [("refused", "updates.altered")]
    standing = Versions(agent.home.versions).read()
    assert standing is not None
    assert (standing.current, standing.candidate) == ("", None)
    (ended,) = standing.ended
    assert (ended.outcome, ended.reason and ended.reason.code, ended.told) == ("refused", "updates.altered", True)


def test_an_agent_on_trial_says_that_it_has_checked_in(agent: Agent) -> None:
    agent.home.versions.mkdir()
    assert agent.run(on_trial=True) == []
    assert Versions(agent.home.versions).confirmation.exists()


def test_it_goes_back_from_what_that_update_brought_alone(agent: Agent) -> None:
    versions = Versions(agent.home.versions)
    versions.write(VersionState(base=Base(VERSION, sys.executable, ()), current="", former="", update="another"))
    back = msgspec.structs.replace(UPDATE, to_do="return")
    assert agent.run(update=back, until="returned") == [("returned", None)]
    standing = versions.read()
    assert standing is not None
    assert standing.former == ""


def test_it_goes_back_when_the_platform_wants_it(agent: Agent) -> None:
    versions = Versions(agent.home.versions)
    from coterie_agent.store.database import SCHEMA_VERSION

    base = Base(VERSION, sys.executable, ())
    versions.write(VersionState(base=base, current="", former="", update="u-1", schema=SCHEMA_VERSION))
    assert agent.run(update=msgspec.structs.replace(UPDATE, to_do="return")) == []
    assert agent.situation.now.stopping
    standing = versions.read()
    assert standing is not None
    assert [(one.outcome, one.reason and one.reason.code) for one in standing.ended] == [
        ("rolled_back", "updates.withdrawn")
    ]
