"""Kinds that other packages bring: which there are, and which of them the operator lets this environment load."""

import click
import msgspec

from coterie.cli.failures import failures_shown
from coterie.cli.output import JSON, print_json, print_result, print_rows
from coterie_learning.custom_kinds import sign_off, withdraw
from coterie_learning.plan import offered_kinds

TAKES_EFFECT = "Processes that start from now on heed it: restart the platform."
DISTRIBUTION = click.argument("distribution")


@click.group("kinds", invoke_without_command=True, short_help="List, allow or withdraw kinds that packages bring.")
@JSON
@click.pass_context
@failures_shown
def kinds(context: click.Context, as_json: bool) -> None:
    """List the kinds that packages of this Python environment bring, and why those that are not loaded are not."""
    if context.invoked_subcommand is not None:
        return
    rows = [
        {
            "kind": f"{offer.slot}.{offer.name}",
            "package": f"{offer.distribution} {offer.version}",
            "state": "loaded" if offer.refusal is None else offer.refusal.code,
            "why": "" if offer.refusal is None else offer.refusal.sentence,
        }
        for offer in offered_kinds()
    ]
    if as_json:
        print_json(msgspec.json.encode(rows))
    else:
        print_rows(("kind", "package", "state", "why"), rows)


@kinds.command("allow", short_help="Sign a package off.")
@DISTRIBUTION
@JSON
@failures_shown
def allow(distribution: str, as_json: bool) -> None:
    """Sign DISTRIBUTION off: its kinds are loaded, and run with the rights of the platform."""
    sign_off(distribution)
    print_result({"distribution": distribution, "allowed": True}, TAKES_EFFECT, as_json=as_json)


@kinds.command("withdraw", short_help="Load the kinds of a package no more.")
@DISTRIBUTION
@JSON
@failures_shown
def withdraw_(distribution: str, as_json: bool) -> None:
    """Load the kinds of DISTRIBUTION no more. Finish the federations whose plans name one of them before."""
    withdraw(distribution)
    print_result({"distribution": distribution, "allowed": False}, TAKES_EFFECT, as_json=as_json)
