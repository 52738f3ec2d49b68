"""``coterie cluster``: hosts, gangs that run or wait with their reasons, and what teams have used."""

from collections.abc import Sequence

import click
import msgspec

from coterie.cli.failures import failures_shown
from coterie.cli.output import JSON, Fields, print_json, print_rows
from coterie.cli.resources import connected
from coterie_wire.structs import from_json


class _Cluster(msgspec.Struct, frozen=True):
    """As the platform answers."""

    hosts: Sequence[Fields]
    gangs: Sequence[Fields]
    use: Sequence[Fields]


@click.command(short_help="Which hosts train, what waits and why.")
@JSON
@failures_shown
def cluster(as_json: bool) -> None:
    """Hosts that train, jobs that run on them or wait and why, and what teams have used."""
    content = connected().request("GET", "cluster/")
    if as_json:
        print_json(content)
        return
    found = from_json(content, _Cluster)
    if not found.hosts:
        click.echo("no host is there; start a Celery worker, which registers its machine")
    else:
        print_rows(("name", "rack", "present", "used", "places", "gpus", "launcher", "queue"), found.hosts)
    click.echo()
    if not found.gangs:
        click.echo("no job runs or waits")
    else:
        gangs = [{**gang, "where": _where(gang)} for gang in found.gangs]
        print_rows(("name", "team", "priority", "ranks", "state", "where"), gangs)
    if found.use:
        click.echo()
        print_rows(("team", "quota", "places", "place_hours", "gpu_hours"), found.use)


def _where(gang: Fields) -> str:
    """Its hosts, or why it has none."""
    shares = gang["shares"]
    assert isinstance(shares, list)
    places = ", ".join(f"{share['ranks']} on {share['host']}" for share in shares)
    return "; ".join(filter(None, [places, str(gang["reason_sentence"])]))
