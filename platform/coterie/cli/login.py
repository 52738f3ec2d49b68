"""``coterie login``: which platform the other commands speak to, and as whom."""

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec

from coterie.cli.connection import Connection, Session, chosen_transport
from coterie.cli.failures import Failed, failures_shown
from coterie.cli.local import STATE
from coterie.cli.output import JSON, print_result
from coterie.cli.state import need_state, tables_checked
from coterie.core.login import FILE, Login
from coterie_wire.structs import from_json

NOT_LOGGED_IN = (
    "Say which platform you mean first: `coterie login URL`, or `coterie login` beside the state directory of one on "
    "this machine."
)


def read_login() -> Login:
    """The platform that was chosen. Raises Failed where none was."""
    try:
        return from_json(FILE.read_bytes(), Login)
    except FileNotFoundError:
        raise Failed("cli.not_logged_in", NOT_LOGGED_IN) from None
    except msgspec.DecodeError as error:
        raise Failed("cli.login_unreadable", f"{FILE} does not hold a login: {error}; log in anew.") from error


@click.command(short_help="Choose the platform that these commands speak to.")
@click.argument("url", required=False)
@click.option("--token-stdin", is_flag=True, help="read the API token from standard input instead of asking for it")
@STATE
@click.option("--operator", metavar="NAME", help="without URL: who you are (default: the only administrator)")
@JSON
@failures_shown
def login(url: str | None, token_stdin: bool, state: Path | None, operator: str | None, as_json: bool) -> None:
    """Choose the platform at URL for the commands that speak to one; without URL, that of the state directory.

    The API token for a URL comes from the console (Settings, API tokens) or from `coterie token create` on the
    platform's own machine. On that machine itself none is needed: one is made, which the console lists. It is kept in
    a file that only you can read.
    """
    if url is None:
        if token_stdin:
            raise Failed("cli.not_a_url", "Say the URL of the platform that the token is for.")
        chosen = _own_login(state, operator)
    elif state is not None or operator is not None:
        raise Failed("cli.two_platforms", "--state and --operator are for the platform on this machine, without URL.")
    else:
        chosen = _login_at(url, token_stdin=token_stdin)
    session = Connection(chosen, chosen_transport()).get("session/", Session)
    person = session.operator
    who = "nobody" if person is None else f"{person.username} ({person.role or 'in projects'})"
    FILE.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = FILE.with_suffix(".draft")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(chosen))
    draft.replace(FILE)
    print_result({"url": chosen.url, "operator": person}, f"You are {who} at {chosen.url}.", as_json=as_json)


def _login_at(url: str, *, token_stdin: bool) -> Login:
    """With a token that the person has. Raises Failed."""
    place = urlsplit(url)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise Failed("cli.not_a_url", f"{url!r} is not the URL of a platform, as https://fleet.example.")
    given = sys.stdin.readline() if token_stdin else click.prompt("API token", hide_input=True, err=True)
    return Login(url.rstrip("/"), given.strip())


def _own_login(state: Path | None, operator: str | None) -> Login:
    """With a token that is made in the state directory. Raises Failed, and what `own_login` raises."""
    need_state(state)
    import django

    django.setup()
    from coterie.accounts.own_login import own_login

    with tables_checked():
        return own_login(operator=operator)


@click.command(short_help="Forget the platform and its token.")
@JSON
@failures_shown
def logout(as_json: bool) -> None:
    """Forget the platform and its token; the token stays valid until somebody revokes it."""
    was_kept = FILE.exists()
    FILE.unlink(missing_ok=True)
    print_result({"was_kept": was_kept}, "The token is no longer kept here.", as_json=as_json)
