"""``coterie login``: which platform the other commands speak to, and as whom."""

import os
import sys
from urllib.parse import urlsplit

import click
import msgspec

from coterie.cli.connection import Connection, Session, chosen_transport
from coterie.cli.failures import Failed, failures_shown
from coterie.cli.output import JSON, print_result
from coterie.core.login import FILE, Login
from coterie_wire.structs import from_json


def read_login() -> Login:
    """The platform that was chosen. Raises Failed where none was."""
    try:
        return from_json(FILE.read_bytes(), Login)
    except FileNotFoundError:
        raise Failed("cli.not_logged_in", "Say which platform you mean first: coterie login URL.") from None
    except msgspec.DecodeError as error:
        raise Failed("cli.login_unreadable", f"{FILE} does not hold a login: {error}; log in anew.") from error


@click.command(short_help="Choose the platform that these commands speak to.")
@click.argument("url")
@click.option("--token-stdin", is_flag=True, help="read the API token from standard input instead of asking for it")
@JSON
@failures_shown
def login(url: str, token_stdin: bool, as_json: bool) -> None:
    """Choose the platform at URL for the commands that speak to one.

    The API token comes from the console (Settings, API tokens) or from `coterie token create` on the platform's own
    machine. It is kept in a file that only you can read.
    """
    place = urlsplit(url)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise Failed("cli.not_a_url", f"{url!r} is not the URL of a platform, as https://fleet.example.")
    given = sys.stdin.readline() if token_stdin else click.prompt("API token", hide_input=True, err=True)
    chosen = Login(url.rstrip("/"), given.strip())
    session = Connection(chosen, chosen_transport()).get("session/", Session)
    person = session.operator
    who = "nobody" if person is None else f"{person.username} ({person.role or 'in projects'})"
    FILE.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = FILE.with_suffix(".draft")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(chosen))
    draft.replace(FILE)
    print_result({"url": chosen.url, "operator": person}, f"You are {who} at {chosen.url}.", as_json=as_json)


@click.command(short_help="Forget the platform and its token.")
@JSON
@failures_shown
def logout(as_json: bool) -> None:
    """Forget the platform and its token; the token stays valid until somebody revokes it."""
    was_kept = FILE.exists()
    FILE.unlink(missing_ok=True)
    print_result({"was_kept": was_kept}, "The token is no longer kept here.", as_json=as_json)
