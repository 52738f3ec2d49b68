"""A gang over several hosts: its leader asks the others, and each runs its share until the placement ends."""

import logging
import secrets
import socket
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.db import transaction

from coterie.child.errors import Cancelled
from coterie.child.job import Limits
from coterie.child.run import run_child
from coterie.cloud import share_job
from coterie.cloud.bootstrap_job import BootstrapArguments, Together
from coterie.cloud_training import work
from coterie.cloud_training.jobs import JOIN
from coterie.cloud_training.models import TrainingJob
from coterie.cluster.models import Host, queue_of
from coterie.cluster.services import GangPlacement, holds_place, join, place_of, put_off
from coterie.core.errors import CoterieError
from coterie.core.lease import Heartbeat
from coterie.core.postponing import lack_of
from coterie.core.scratch import scratch_directory
from coterie_wire.conditions import Reason

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
JOIN_WITHIN_S = 150.0
"""The workers wait a little longer for each other."""
TO_TRAIN = ("pair__cloud_program", "pair__loss_program", "dataset__blob")
"""The fields of a job that a joining host reads."""


class Meeting(NamedTuple):
    """Where the workers of one placement find each other."""

    leader: str
    """Address of the host that leads."""
    port: int
    secret: str


def call_gang(
    job: TrainingJob, place: GangPlacement, arguments: BootstrapArguments, now: datetime
) -> BootstrapArguments:
    """Have the other hosts run their shares; returns the leader's own."""
    arguments = msgspec.structs.replace(arguments, gpus=place.shares[0].gpus)
    if len(place.shares) == 1:
        return arguments
    addresses = _addresses(place)
    meeting = Meeting(addresses[place.lead], _free_port(), secrets.token_hex(16))
    join(job=job.pk, placement=place.placement, host=place.lead, now=now)
    with transaction.atomic():
        first = place.shares[0].ranks
        for share in place.shares[1:]:
            JOIN.send_to(
                queue_of(share.host),
                expires_s=JOIN_WITHIN_S,
                job=str(job.pk),
                placement=place.placement,
                host=share.host,
                first=first,
                **meeting._asdict(),
            )
            first += share.ranks
    lead = _part(meeting, first=0, here=place.shares[0].ranks, address=meeting.leader)
    return msgspec.structs.replace(arguments, together=lead)


def limits_of(arguments: BootstrapArguments) -> Limits:
    """Limits of a child that trains: only one that has to can reach other hosts."""
    limits = work.bootstrap_limits(arguments)
    return limits if arguments.together is None else replace(limits, network=True)


def join_gang(*, job_id: uuid.UUID, placement: int, host: str, first: int, meeting: Meeting, clock: Clock) -> None:
    """Run this host's workers, unless that was done or the placement has ended.

    The leader reports the workers' failures. Where this host lacks a resource that becomes available by itself, all of
    the gang waits.
    """
    if not join(job=job_id, placement=placement, host=host, now=clock()):
        return
    place = place_of(job_id)
    if place is None or place.placement != placement:
        return
    job = TrainingJob.objects.select_related(*TO_TRAIN).get(pk=job_id)
    here = next(share for share in place.shares if share.host == host)
    part = _part(meeting, first=first, here=here.ranks, address=_addresses(place)[host])
    held = Heartbeat(lambda: holds_place(job_id, placement, clock()))
    with held as heartbeat:
        try:
            with scratch_directory("share") as directory:
                arguments = work.bootstrap_arguments(job, directory, clock())
                arguments = msgspec.structs.replace(arguments, together=part, gpus=here.gpus)
                run_child(share_job.JOB, arguments, limits=limits_of(arguments), cancel=heartbeat.lost)
        except Cancelled:
            logger.info("the workers of %s left %s", job, host)
        except Exception as error:
            lack = lack_of(error)
            if lack is not None:
                on_host = Reason(lack.code, f"{host}: {lack.sentence}")
                put_off(job=job_id, placement=placement, lack=on_host, now=clock())
            elif not isinstance(error, CoterieError):
                raise
            logger.warning("the workers of %s on %s: %s", job, host, error)


def _part(meeting: Meeting, *, first: int, here: int, address: str) -> Together:
    return Together(
        first=first,
        here=here,
        address=address,
        leader=meeting.leader,
        port=meeting.port,
        secret=meeting.secret,
    )


def _addresses(place: GangPlacement) -> Mapping[str, str]:
    names = [share.host for share in place.shares]
    return dict(Host.objects.filter(pk__in=names).values_list("name", "address"))


def _free_port() -> int:
    """A free port; should another process take it meanwhile, the workers fail to connect and are placed again."""
    with socket.create_server(("", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
