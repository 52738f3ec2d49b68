"""At the shell of the platform's own machine a login needs no token that somebody copies."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from coterie.accounts.models import ApiToken
from coterie.accounts.own_login import AddressUnknown, OperatorUnsaid, PlatformStopped, own_login
from coterie.accounts.selectors import OperatorUnknown, live_token
from coterie.accounts.services import create_operator
from coterie.core.own_address import note_address

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def listening(settings: Settings, tmp_path: Path) -> Iterator[socket.socket]:
    """Where the platform answers."""
    settings.STATE, settings.PUBLIC_URL = tmp_path, ""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        note_address(tmp_path, f"http://127.0.0.1:{listener.getsockname()[1]}")
        yield listener


def test_the_only_administrator_is_meant(listening: socket.socket) -> None:
    ada = create_operator(username="ada").operator
    create_operator(username="vera", role="viewer")
    login = own_login(operator=None)
    assert login.url == f"http://127.0.0.1:{listening.getsockname()[1]}"
    assert live_token(login.token, now=timezone.now()).operator == ada


def test_a_login_replaces_the_one_before() -> None:
    create_operator(username="ada")
    for _ in range(2):
        own_login(operator="ada")
    assert ApiToken.objects.filter(revoked_at=None).count() == 1


def test_who_is_meant_is_said_where_there_are_several() -> None:
    for name in ("ada", "bob"):
        create_operator(username=name)
    with pytest.raises(OperatorUnsaid, match="ada, bob"):
        own_login(operator=None)
    with pytest.raises(OperatorUnknown):
        own_login(operator="eve")


def test_a_platform_that_is_stopped_costs_no_token(listening: socket.socket) -> None:
    create_operator(username="ada")
    listening.close()
    with pytest.raises(PlatformStopped, match="coterie up"):
        own_login(operator=None)
    assert not ApiToken.objects.exists()


def test_a_platform_that_never_answered_has_no_address(settings: Settings, tmp_path: Path) -> None:
    settings.STATE = tmp_path / "new"
    with pytest.raises(AddressUnknown):
        own_login(operator=None)
