"""A pair with a bootstrapped cloud model: its models know two behaviours, and cannot tell whose is whose."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from coterie.compile.program import export_module
from tests.system.eventually import eventually
from tests.system.operator_client import OperatorClient

FEATURES, CLASSES = 4, 3


class Published(NamedTuple):
    """The pair, and data for its cloud model and to judge it by."""

    pair: str
    cloud_data: str
    held_out: str


def samples(count: int, *, shift: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Of one behaviour: labels are so far from the largest feature."""
    x = np.random.default_rng(seed).normal(size=(count, FEATURES)).astype(np.float32)
    return x, (x[:, :CLASSES].argmax(axis=1) + shift) % CLASSES


def publish(operator: OperatorClient, directory: Path, *, name: str = "two ways") -> Published:
    """Upload the pair and its data, and wait for its first versions."""
    torch.manual_seed(0)
    for role, width in (("device", 8), ("cloud", 32)):
        module = nn.Sequential(nn.Linear(FEATURES, width), nn.Tanh(), nn.Linear(width, CLASSES))
        torch.export.save(export_module(module, [torch.zeros(2, FEATURES)]), directory / f"{role}.pt2")
    post = operator.http.post

    def add_dataset(called: str, seed: int) -> str:
        parts = [samples(150, shift=shift, seed=seed + shift) for shift in (0, 1)]
        x, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        np.savez(directory / f"{called}.npz", x=x, y=y)
        content = (directory / f"{called}.npz").read_bytes()
        made: str = post("/datasets/", data={"name": called}, files={"file": (f"{called}.npz", content)}).json()["id"]
        return made

    programs = {role: (f"{role}.pt2", (directory / f"{role}.pt2").read_bytes()) for role in ("device", "cloud")}
    submitted = post("/pairs/", data={"name": name, "labels": ["a", "b", "c"], "batch_size": 16}, files=programs)
    assert submitted.status_code == 201, submitted.text
    pair: str = submitted.json()["id"]
    cloud_data, held_out = add_dataset("cloud data", 10), add_dataset("held out data", 20)
    eventually(lambda: _once(operator, pair, "state", "ready"), within_s=120)
    options = {"dataset": cloud_data, "epochs": 15, "learning_rate": 0.02, "distil_epochs": 15}
    operator.post(f"/pairs/{pair}/bootstrap/", options)
    eventually(lambda: _once(operator, pair, "device_champion", None), within_s=120)
    return Published(pair, cloud_data, held_out)


def _once(operator: OperatorClient, pair: str, field: str, wanted: str | None) -> dict[str, Any] | None:
    """The pair, once a field has the wanted value, or any."""
    found = operator.get(f"/pairs/{pair}/")
    assert found["state"] != "rejected", found
    assert all(job["state"] != "failed" for job in operator.list("/jobs/", pair=pair))
    return found if found[field] and wanted in (None, found[field]) else None
