"""Commands at the platform's own machine: each write is in the audit log, given to the command line."""

import io

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from coterie.accounts.management.commands import changepassword
from coterie.accounts.models import Operator
from coterie.accounts.services import create_operator
from coterie.audit.models import Entry
from coterie.core.acting import OperatorRole

pytestmark = pytest.mark.django_db


def told() -> list[tuple[str, str, str]]:
    """Action, subject and kind of actor, of what the command line did."""
    entries = Entry.objects.filter(actor_name__startswith="the command line (").order_by("pk")
    return [(entry.action, entry.subject_name, entry.actor_kind) for entry in entries]


def run(*arguments: str, **options: object) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, **options)
    return out.getvalue()


def test_a_superuser_is_an_administrator_and_leaves_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "correct horse battery")
    run("createsuperuser", username="ada", email="ada@example.org", interactive=False)
    assert Operator.objects.get(username="ada").role == OperatorRole.ADMINISTRATOR
    assert told() == [("accounts.create_operator", "ada", "system")]
    assert "correct horse" not in str(list(Entry.objects.values()))


def test_a_changed_password_leaves_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = create_operator(username="ada").operator
    typed = iter(["correct horse battery", "correct horse battery", "first try!!", "other try!!", "short", "short"])
    monkeypatch.setattr(changepassword, "getpass", lambda _prompt: next(typed))
    run("changepassword", "ada")
    ada.refresh_from_db()
    assert ada.check_password("correct horse battery")
    with pytest.raises(CommandError, match="differ"):
        run("changepassword", "ada")
    with pytest.raises(CommandError, match=r"accounts\.weak_password"):
        run("changepassword", "ada")
    assert told() == [("accounts.change_password", "ada", "system")]


def test_another_role_leaves_an_entry_and_the_last_administrator_stays() -> None:
    create_operator(username="ada", role=OperatorRole.ADMINISTRATOR)
    create_operator(username="bob", role=OperatorRole.VIEWER)
    run("change_role", "bob", "operator")
    with pytest.raises(CommandError, match=r"accounts\.last_administrator"):
        run("change_role", "ada", "viewer")
    with pytest.raises(CommandError, match=r"accounts\.operator_unknown"):
        run("change_role", "eve", "viewer")
    assert told() == [("accounts.change_operator", "bob", "system")]


def test_tokens_and_links_leave_entries() -> None:
    create_operator(username="ada")
    run("token", "create", "ci", "--operator", "ada")
    run("sign_in_link", "ada", "--url", "https://fleet.example")
    assert [action for action, *_ in told()] == ["accounts.issue_token", "accounts.issue_sign_in_link"]
