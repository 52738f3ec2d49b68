"""Rounds: how soon after the last update a version is published."""

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import msgspec
import numpy as np

from coterie.config.announce import FirstOperator, Line, Ready
from coterie_learning.codec.int8 import Int8
from coterie_wire.bundle import verify_manifest
from coterie_wire.conditions import Conditions
from coterie_wire.messages import (
    Assignment,
    Capabilities,
    CheckIn,
    DataMetadata,
    Directive,
    Enrol,
    Enrolled,
    OfferUpdate,
    UploadState,
)
from coterie_wire.version import PROTOCOL
from tests.benchmarks.report import Figure

DEVICES = 8
ROUNDS = 7
ROOT = Path(__file__).resolve().parents[2]


def measure() -> list[Figure]:
    return list(_publishing())


def _publishing() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as directory, _platform(Path(directory)) as operator:
        federation = _federation(operator, Path(directory))
        devices = [Device(operator, number) for number in range(DEVICES)]
        waits = [_hold_round(operator, federation, devices) for _ in range(ROUNDS)]
    case = f"{DEVICES} devices, demo model, 360 held-out samples, {ROUNDS} rounds"
    target = 0.5
    for metric, value in (("median", statistics.median(waits)), ("worst", max(waits))):
        yield Figure(
            case,
            f"last update accepted to version published, {metric}",
            value,
            "s",
            against=f"target <= {target} s",
            ratio=target / value,
        )


@contextmanager
def _platform(directory: Path) -> Iterator[httpx.Client]:
    """A platform in embedded mode, and a client signed in as its operator."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COTERIE_")}
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                str(ROOT / "manage.py"),
                "up",
                "--state",
                str(directory / "state"),
                "--port",
                "0",
                "--json",
            ],
            env={**environment, "DJANGO_SETTINGS_MODULE": "coterie.config.settings"},
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        assert process.stdout is not None
        lines = (msgspec.json.decode(raw, type=Line) for raw in process.stdout)
        operator = next(line for line in lines if isinstance(line, FirstOperator))
        ready = next(line for line in lines if isinstance(line, Ready))
        with httpx.Client(base_url=ready.url, timeout=30) as client:
            password = Path(operator.password_file).read_text()
            issued = client.post("/api/tokens/", json={"name": "bench"}, auth=(operator.name, password))
            client.headers["Authorization"] = f"Bearer {issued.raise_for_status().json()['secret']}"
            yield client
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _federation(operator: httpx.Client, directory: Path) -> str:
    """A running federation of the demo's pair, which has been trained for one epoch."""
    # Here, not above: the process whose memory is measured imports this module, and PyTorch with it.
    from coterie.demo.digits import deal
    from coterie.demo.pair import export_pair

    files = export_pair(directory)
    dealt = deal(devices=DEVICES, seed=0)
    datasets = {}
    for name, samples in (("cloud", dealt.cloud), ("held-out", dealt.held_out)):
        path = directory / f"{name}.npz"
        np.savez(path, x=samples.x, y=samples.y)
        datasets[name] = _post(operator, "datasets", data={"name": name}, files={"file": path.read_bytes()})["id"]
    pair = _post(
        operator,
        "pairs",
        data={"name": "digits", "labels": [str(digit) for digit in range(10)], "batch_size": "16"},
        files={"device": files.device.read_bytes(), "cloud": files.cloud.read_bytes()},
    )["id"]
    _wait_for(operator, f"pairs/{pair}", "state", "ready")
    _post(operator, f"pairs/{pair}/bootstrap", json={"dataset": datasets["cloud"], "epochs": 1, "distil_epochs": 1})
    _wait_for(operator, f"pairs/{pair}", "device_champion")
    pace = {"kind": "sync", "target_updates": DEVICES, "min_updates": DEVICES, "over_selection": 1}
    federation = _post(
        operator,
        "federations",
        json={"name": "digits", "pair": pair, "held_out": datasets["held-out"], "tolerance": 1, "plan": {"pace": pace}},
    )["id"]
    _post(operator, f"federations/{federation}/start", json={})
    return str(federation)


def _post(operator: httpx.Client, path: str, **content: object) -> Mapping[str, object]:
    answer = operator.post(f"/api/{path}/", **content)
    if answer.is_error:
        raise RuntimeError(answer.text)
    return msgspec.json.decode(answer.content, type=dict[str, object])


def _wait_for(operator: httpx.Client, path: str, field: str, value: object = None) -> None:
    while True:
        found = operator.get(f"/api/{path}/").raise_for_status().json()
        if found["state"] == "rejected":
            raise RuntimeError(found["reason_sentence"])
        if (found[field] == value) if value is not None else found[field]:
            return
        time.sleep(0.2)


class Device:
    """A device that follows its directives and sends noise."""

    def __init__(self, operator: httpx.Client, number: int) -> None:
        expires_at = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        token = _post(operator, "enrolment-tokens", json={"label": "bench", "expires_at": expires_at})["secret"]
        self._client = httpx.Client(base_url=operator.base_url, timeout=30)
        capabilities = Capabilities(cores=1, memory_bytes=1 << 30, machine="bench", agent="bench")
        enrolled = self._ask("enrol", Enrol(PROTOCOL, str(token), f"device-{number}", capabilities), Enrolled)
        self._client.headers["Authorization"] = f"Bearer {enrolled.credential}"
        self._key = enrolled.platform_key
        self._rng = np.random.default_rng(number)

    def check_in(self) -> Assignment | None:
        message = CheckIn(PROTOCOL, Conditions(charging="yes", network="wifi"), metadata=DataMetadata(samples=100))
        return self._ask("check-in", message, Directive).assignment

    def deliver(self, assignment: Assignment) -> None:
        model = verify_manifest(assignment.manifest, self._key).model
        noise = {spec.name: 1e-3 * self._rng.standard_normal(spec.shape, dtype=np.float32) for spec in model.parameters}
        payload = Int8().encode(noise, seed=assignment.seed).payload
        offer = OfferUpdate(
            assignment=assignment.assignment,
            sha256=hashlib.sha256(payload).hexdigest(),
            size_bytes=len(payload),
            samples=100,
            steps_done=10,
            steps_total=10,
            loss_before=1.0,
            loss_after=0.9,
            accuracy_before=0.5,
            train_s=1.0,
        )
        self._ask("offer-update", offer, UploadState)
        answer = self._client.patch(
            f"/device/v1/uploads/{assignment.assignment}", content=payload, headers={"Upload-Offset": "0"}
        )
        assert msgspec.json.decode(answer.raise_for_status().content, type=UploadState).accepted

    def _ask(self, name: str, message: msgspec.Struct, reply: type) -> object:
        answer = self._client.post(f"/device/v1/{name}", content=msgspec.json.encode(message))
        if answer.is_error:
            raise RuntimeError(answer.text)
        return msgspec.json.decode(answer.content, type=reply)


def _hold_round(operator: httpx.Client, federation: str, devices: list[Device]) -> float:
    """Seconds from the last update accepted to the version published, by the platform's own clock."""
    todo = list(devices)
    while todo:
        for device in list(todo):
            assignment = device.check_in()
            if assignment is not None:
                device.deliver(assignment)
                todo.remove(device)
                number = assignment.round
    while True:
        rounds = operator.get("/api/rounds/", params={"federation": federation}).raise_for_status().json()["results"]
        row = next(row for row in rounds if row["number"] == number)
        if row["finished_at"] is not None:
            assert row["state"] == "published", row["reason_sentence"]
            break
        time.sleep(0.05)
    detail = operator.get(f"/api/rounds/{row['id']}/").raise_for_status().json()
    accepted = max(_time(part["delivered"]["received_at"]) for part in detail["assignments"])
    return (_time(detail["finished_at"]) - accepted).total_seconds()


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
