"""A database that is taken back to a moment: the platform goes on from there, in the middle of its round."""

import secrets
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.system.archived_database import FOUND, archived_database
from tests.system.cluster import Cluster, Web
from tests.system.eventually import eventually
from tests.system.model import payload
from tests.system.operator_client import OperatorClient
from tests.system.processes import prepare_state
from tests.system.scaled import SCALED
from tests.system.scripted_device import ScriptedDevice

pytestmark = [*SCALED, pytest.mark.long, pytest.mark.skipif(FOUND is None, reason="no initdb")]
DEVICES = 3
IS_WHOLE = """
import time
from django.utils import timezone
from coterie.config.doctor import examine
from coterie.registry.verifying import scrub
assert not scrub(now=timezone.now(), bytes_at_once=None).damaged
ends_at = time.monotonic() + 20  # the beat has just begun
while (found := {one.about: one for one in examine() if one.state == "wrong"}) and time.monotonic() < ends_at:
    time.sleep(1)
assert not found, found
"""


def test_a_round_that_is_taken_back_ends_as_it_did(broker: str, tmp_path: Path) -> None:
    with archived_database() as database, ExitStack() as running:
        settings = {
            "mode": "scaled",
            "state": str(tmp_path / "state"),
            "redis_url": broker,
            "secret_key": secrets.token_hex(32),
            "signing_key": secrets.token_hex(32),
        }
        seeded = prepare_state(tmp_path / "seed", pairs=1, database_url=database.url, **settings)
        listener = running.enter_context(socket.create_server(("127.0.0.1", 0)))

        def cluster(name: str, url: str) -> Cluster:
            (tmp_path / name).mkdir()
            return Cluster({**settings, "database_url": url}, tmp_path / name, running)

        before = cluster("before", database.url)
        web = Web(before.machine(), listener)
        nodes = [web, before.worker(), before.beat()]
        eventually(web.answers)
        operator = running.enter_context(OperatorClient(web.url, seeded.token))
        pace = {"kind": "sync", "target_updates": DEVICES, "min_updates": DEVICES, "over_selection": 1}
        federation = operator.start_federation("past", pair=seeded.pairs[0], plan={"pace": pace}, rounds_wanted=1)
        token = operator.enrolment_token(tag="past", uses=DEVICES)
        devices = [ScriptedDevice(web.url, token, f"device-{number}") for number in range(DEVICES)]
        for device in devices:
            running.callback(device.close)
            device.check_in()
        assignments = [device.assignment(1).assignment for device in devices]
        for number in range(DEVICES - 1):
            devices[number].deliver(assignments[number], payload(number))
        moment = database.now()
        devices[-1].deliver(assignments[-1], payload(DEVICES - 1))
        published = _parameters(operator, federation)

        for node in nodes:
            node.kill()
        after = cluster("after", database.as_at(moment).url)
        nodes = [Web(after.machine(), listener), after.worker(), after.beat()]
        eventually(web.answers)
        round_ = operator.round(federation, 1)
        assert round_ is not None and round_["state"] == "open"
        devices[-1].deliver(assignments[-1], payload(DEVICES - 1))
        assert _parameters(operator, federation) == published
        after.machine().shell(IS_WHOLE)
        for node in nodes:
            node.kill()


def _parameters(operator: OperatorClient, federation: str) -> str:
    """The hash of what the round published, of everybody's update."""
    round_ = operator.ended_round(federation, 1)
    assert (round_["state"], round_["metrics"]["updates"]) == ("published", DEVICES), round_
    parameters: str = operator.get(f"/versions/{round_['result_version']}/")["parameters"]
    return parameters
