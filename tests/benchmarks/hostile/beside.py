"""A federation of honest devices that goes on beside the attack, in a process of its own."""

import multiprocessing
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from multiprocessing.synchronize import Event

import httpx

from tests.system.model import payload
from tests.system.operator_client import OperatorClient
from tests.system.scripted_device import Refused, ScriptedDevice

POLL_S = 0.2


class Federation:
    """Rounds without end, of which the platform keeps the times."""

    def __init__(self, operator: OperatorClient, federation: str) -> None:
        self._operator = operator
        self._federation = federation

    def published(self) -> list[float]:
        """Seconds of each published round, from its opening to its version."""
        rounds = self._operator.list("/rounds/", federation=self._federation, state="published", page_size=500)
        moments = ((round_["opened_at"], round_["finished_at"]) for round_ in sorted(rounds, key=lambda r: r["number"]))
        return [(datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds() for begin, end in moments]


@contextmanager
def federation(url: str, token: str, pair: str, held_out: str, *, devices: int) -> Iterator[Federation]:
    """A federation whose devices deliver as long as the block lasts."""
    processes = multiprocessing.get_context("spawn")  # who attacks would keep Python from them in one process
    ending = processes.Event()
    with OperatorClient(url, token) as operator:
        pace = {"kind": "sync", "target_updates": devices, "min_updates": devices, "over_selection": 1}
        plan = {"pace": pace}
        started = operator.start_federation("beside", pair=pair, plan=plan, held_out=held_out, rounds_wanted=100_000)
        secret = operator.enrolment_token(tag="beside", uses=devices)
        fleet = processes.Process(target=_live_together, args=(url, secret, devices, ending), daemon=True)
        fleet.start()
        try:
            yield Federation(operator, started)
        finally:
            ending.set()
            fleet.join(60)
            assert fleet.exitcode == 0
            operator.post(f"/federations/{started}/finish/")


def _live_together(url: str, secret: str, devices: int, ending: Event) -> None:
    fleet = [ScriptedDevice(url, secret, f"honest-{number}") for number in range(devices)]
    threads = [threading.Thread(target=_live, args=(device, number, ending)) for number, device in enumerate(fleet)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _live(device: ScriptedDevice, number: int, ending: Event) -> None:
    """Check in, and deliver what is asked for; a request that fails is tried again."""
    done = ""
    while not ending.wait(POLL_S):
        try:
            assignment = device.check_in().assignment
            if assignment is not None and assignment.assignment != done:
                device.deliver(assignment.assignment, payload(number))
                done = assignment.assignment
        except (Refused, httpx.TransportError, AssertionError):
            continue
    device.close()
