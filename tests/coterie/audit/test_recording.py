"""Every write of an operator leaves an entry that nobody can change, and who may not write leaves neither."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, transaction

from coterie.accounts.models import Operator
from coterie.accounts.permissions import actor_of
from coterie.accounts.services import create_operator, issue_token
from coterie.audit.models import Entry
from coterie.core.acting import NOBODY, Actor, NobodyActs, OperatorRole, RoleNeeded, Scope, ScopeNeeded, acting_as
from coterie.fleet.models import Device
from coterie.fleet.services import BadTag, change_device, revoke_device
from coterie.registry.models import Role
from coterie.registry.services import move_champion, roll_back
from tests.coterie.conftest import NOW
from tests.coterie.world import make_device, make_pair, make_version

pytestmark = pytest.mark.django_db


def person(role: OperatorRole) -> Actor:
    return actor_of(create_operator(username=role.value, role=role).operator, address="192.0.2.7")


def test_an_entry_says_who_changed_what_from_what_to_what() -> None:
    device, actor = make_device("kitchen", tags=("a",)), person(OperatorRole.OPERATOR)
    with acting_as(actor):
        change_device(device=device, tags=["b"])
    entry = Entry.objects.get(action="fleet.change_device")
    assert (entry.actor_kind, entry.actor_name, entry.address) == ("person", "operator", "192.0.2.7")
    assert (entry.subject_kind, entry.subject_id, entry.subject_name) == ("fleet.device", str(device.pk), "kitchen")
    assert (entry.before, entry.after) == ({"tags": ["a"]}, {"tags": ["b"]})


def test_a_reason_stands_beside_what_changed() -> None:
    pair = make_pair()
    first, second = (make_version(pair, seed=seed) for seed in (1, 2))
    move_champion(version=second, now=NOW)
    roll_back(pair=pair, role=Role.DEVICE, to=first.pk, why="it drains batteries", now=NOW)
    roll_back(pair=pair, role=Role.DEVICE, to=second.pk, now=NOW)
    later, earlier = Entry.objects.filter(action="registry.roll_back")
    assert earlier.after["why"] == "it drains batteries"
    assert (earlier.after["version_id"], "why" in later.after) == (str(first.pk), False)


def test_what_is_new_is_recorded_whole_and_without_secrets() -> None:
    operator, password = create_operator(username="ada")
    token, secret = issue_token(operator=operator, name="ci", scopes=[Scope.READ], now=NOW)
    entry = Entry.objects.get(action="accounts.issue_token")
    assert entry.actor_kind == "system"
    assert (entry.before, entry.after["name"], entry.after["scopes"]) == ({}, "ci", ["read"])
    written = str(list(Entry.objects.values()))
    operator.refresh_from_db()
    for hidden in (password, secret, token.secret_hash, operator.password):
        assert hidden not in written


def test_a_write_that_changes_nothing_leaves_no_entry() -> None:
    device = make_device("kitchen", tags=("a",))
    change_device(device=device, tags=["a"])
    assert not Entry.objects.exists()


def test_a_write_that_fails_leaves_no_entry() -> None:
    with pytest.raises(BadTag):
        change_device(device=make_device("kitchen"), tags=["NO"])
    assert not Entry.objects.exists()


@pytest.mark.parametrize(
    ("actor", "refusal"),
    [
        (NOBODY, NobodyActs),
        (Actor("person", "1", "eve", OperatorRole.VIEWER), RoleNeeded),
        (Actor("token", "1", "ci", OperatorRole.ADMINISTRATOR, frozenset({Scope.READ, Scope.MODELS})), ScopeNeeded),
    ],
)
def test_who_may_not_changes_nothing(actor: Actor, refusal: type[Exception]) -> None:
    device = make_device("kitchen")
    with acting_as(actor), pytest.raises(refusal):
        revoke_device(device=device, now=NOW)
    assert Device.objects.get().state == "enrolled"
    assert not Entry.objects.exists()


def test_a_token_makes_no_token_that_may_do_more_than_itself() -> None:
    operator = create_operator(username="ada").operator
    narrow = Actor("token", str(operator.pk), "ada", OperatorRole.ADMINISTRATOR, frozenset({Scope.SETTINGS}))
    with acting_as(narrow), pytest.raises(ScopeNeeded):
        issue_token(operator=operator, name="wide", now=NOW)
    with acting_as(narrow):
        issue_token(operator=operator, name="narrow", scopes=[Scope.SETTINGS], now=NOW)


def test_the_database_refuses_to_change_and_to_remove_entries(append_only: None) -> None:
    create_operator(username="ada")
    for write in (lambda: Entry.objects.update(actor_name="nobody"), Entry.objects.all().delete):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            write()
    assert Entry.objects.get().actor_name == "the platform"


@pytest.fixture
def append_only(db: None) -> None:
    """The triggers as the migration makes them; tests that empty all tables had the one against deletion removed."""
    *_, operation = import_module("coterie.audit.migrations.0001_tables").Migration.operations
    for step in (operation.reverse_code, operation.code):
        step(apps, connection.schema_editor())


def test_actor_of_a_person_has_every_scope() -> None:
    assert actor_of(Operator(pk=1, username="ada", role="viewer")).scopes == frozenset(Scope)
