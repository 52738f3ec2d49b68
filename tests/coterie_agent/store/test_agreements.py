"""Editions of the owner's word are kept as they were read; what damage or leaving takes is asked again."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from coterie_agent.config import ConsentSettings
from coterie_agent.consent import Consent
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.store.agreements import AskedOfOwner
from coterie_agent.store.database import _AGREEMENTS, _SCHEMAS
from coterie_agent.store.opened import Store, open_store
from coterie_learning.consent import SCOPES, WORDS, withdrawn_parts
from coterie_wire.messages import Enrolled
from tests.coterie_agent.store.older import make_older

ASKS = ConsentSettings()
ENROLLED = Enrolled(device="d1", credential="secret", platform_key=bytes(32), check_in_s=30)


def test_each_edition_is_kept_as_it_was_read(home: Home) -> None:
    with open_store(home) as store:
        store.agreements.agree(("summed",), how="terminal", read="Nobody can read it.")
        consent = Consent(ASKS, store.agreements)
        consent.check("digits", ("summed",))
        with pytest.raises(AgentError) as refused:
            consent.check("digits", ("readable", "help"))
        assert refused.value.code == "owner.not_agreed"
    with open_store(home) as store:  # also after a restart
        (asked,) = store.agreements.pending()
        assert asked == AskedOfOwner("digits", ("readable", "help"))
        Consent(ASKS, store.agreements).agree(asked, how="page")
        assert store.agreements.pending() == ()
        first, second = store.agreements.editions()
        assert (first.how, first.scopes, first.read) == ("terminal", ("summed",), "Nobody can read it.")
        assert (second.how, second.scopes) == ("page", ("readable", "summed", "help"))
        assert all(WORDS[scope] in second.read for scope in asked.scopes)
        Consent(ASKS, store.agreements).check("digits", ("readable", "help"))


def test_a_word_holds_for_what_was_shown_alone(store: Store) -> None:
    consent = Consent(ASKS, store.agreements)
    assert not consent.covers("digits", ("summed",))
    shown = store.agreements.pending()[0]
    assert not consent.covers("digits", ("readable",))  # meanwhile the plan asks more
    with pytest.raises(AgentError) as refused:
        consent.agree(shown, how="page")
    assert refused.value.code == "owner.nothing_asked" and store.agreements.editions() == ()


def test_what_one_federation_was_given_another_need_not_ask(store: Store) -> None:
    consent = Consent(ASKS, store.agreements)
    assert not consent.covers("digits", ("readable",))
    assert not consent.covers("voices", ("noised", "help"))
    consent.agree(AskedOfOwner("digits", ("readable",)), how="terminal")
    assert store.agreements.pending() == (AskedOfOwner("voices", ("help",)),)
    assert consent.covers("voices", ("noised",)), "a plan that asks less again has nothing asked any more"
    assert store.agreements.pending() == ()


def test_a_federation_that_has_ended_asks_nothing(store: Store) -> None:
    for federation in ("digits", "voices"):
        store.agreements.ask(federation, ("readable",))
    store.agreements.keep_only(("voices", "others"))
    assert [one.federation for one in store.agreements.pending()] == ["voices"]


def test_what_the_disk_has_damaged_does_not_count(home: Home) -> None:
    with open_store(home) as store:
        store.agreements.agree(("summed",), how="terminal", read="")
        store.agreements.agree(("readable",), how="terminal", read="")
        store.agreements.ask("digits", ("help",))
    with closing(sqlite3.connect(home.database)) as connection:
        connection.execute("UPDATE agreement SET content = replace(content, 'terminal', 'page') WHERE edition = 2")
        connection.execute("UPDATE agreement_asked SET federation = 'voices'")
        connection.commit()
    with open_store(home) as store:
        assert store.agreements.scopes() == (), "what was damaged may have taken back what held before"
        assert [edition.scopes for edition in store.agreements.editions()] == [("summed",)]
        assert store.agreements.pending() == ()
        store.agreements.ask("voices", ("readable",))
        assert store.agreements.pending() == (AskedOfOwner("voices", ("readable",)),)


@pytest.mark.parametrize("has_joined", [True, False])
def test_a_device_that_joined_before_goes_on_and_can_read_why(tmp_path: Path, has_joined: bool) -> None:
    home = Home(tmp_path)
    with open_store(home) as store:
        if has_joined:
            store.identity.save(url="https://platform.example", name="kiosk", enrolled=ENROLLED)
    with closing(sqlite3.connect(home.database)) as connection:
        make_older(connection, before=_SCHEMAS.index(_AGREEMENTS))
        connection.commit()
    with open_store(home) as store:
        assert store.agreements.scopes() == (SCOPES if has_joined else ())
        editions = store.agreements.editions()
        assert [one.how for one in editions] == ["before"] * has_joined
        assert all("joined before agreements were kept" in one.read for one in editions)
        assert Consent(ASKS, store.agreements).covers("digits", SCOPES) is has_joined


def test_it_goes_with_the_membership(store: Store) -> None:
    store.identity.save(url="https://platform.example", name="kiosk", enrolled=ENROLLED)
    store.agreements.agree(SCOPES, how="terminal", read="")
    store.agreements.ask("digits", ("help",))
    store.identity.delete()
    assert (store.agreements.editions(), store.agreements.pending()) == ((), ())


def test_a_part_is_taken_back_and_given_again_and_each_is_an_edition(store: Store) -> None:
    store.agreements.agree(("readable", "help"), how="terminal", read="All of it.")
    consent = Consent(ASKS, store.agreements)
    consent.take_back("federation:digits", how="page")
    consent.take_back("help", how="page")
    for federation, asked in (("digits", ("readable",)), ("voices", ("readable", "help"))):
        with pytest.raises(AgentError) as refused:
            consent.check(federation, asked)  # type: ignore[arg-type]
        assert refused.value.code == "owner.taken_back"
    assert store.agreements.pending() == (), "nobody asks for what was taken back a moment ago"
    consent.check("voices", ("readable",))
    assert [edition.withdrawn for edition in store.agreements.editions()] == [
        (),
        ("federation:digits",),
        ("federation:digits", "help"),
    ]
    assert "takes part in digits" in store.agreements.editions()[1].read
    consent.give_again("federation:digits", how="terminal")
    consent.check("digits", ("readable",))
    assert store.agreements.withdrawn() == ("help",)
    store.agreements.agree(("help",), how="page", read="Help, again.")
    assert store.agreements.withdrawn() == (), "who agrees to it anew has given it again"


def test_who_takes_readable_updates_back_is_in_no_plan_that_reads_them_and_in_others_still(store: Store) -> None:
    store.agreements.agree(("readable",), how="terminal", read="All of it.")
    consent = Consent(ASKS, store.agreements)
    consent.take_back("readable", how="page")
    assert withdrawn_parts(store.agreements.withdrawn(), "digits", ("readable",)) == ("readable",)
    consent.check("digits", ("summed",))


@pytest.mark.parametrize("part", ["federation:", "all", "digits", ""])
def test_what_is_no_part_is_refused(store: Store, part: str) -> None:
    store.agreements.agree(("readable",), how="terminal", read="All of it.")
    for change in (Consent(ASKS, store.agreements).take_back, Consent(ASKS, store.agreements).give_again):
        with pytest.raises(AgentError) as refused:
            change(part, how="page")
        assert refused.value.code == "owner.unknown_part"


def test_nothing_is_taken_back_before_anything_was_agreed_to_nor_given_again_that_holds(store: Store) -> None:
    consent = Consent(ASKS, store.agreements)
    with pytest.raises(AgentError) as refused:
        consent.take_back("help", how="page")
    assert refused.value.code == "owner.nothing_agreed"
    with pytest.raises(AgentError) as refused:
        consent.give_again("help", how="page")
    assert refused.value.code == "owner.not_taken_back"
