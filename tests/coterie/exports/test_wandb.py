"""Rounds in runs of Weights & Biases, written by its own library without a network, and read back."""

import struct
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from coterie.exports.errors import NotTaken
from coterie.exports.installed import chosen_exporters
from coterie.exports.interface import RoundFact, VersionFact
from coterie.exports.wandb import WeightsAndBiases
from coterie.exports.wandb_job import WandbProject
from tests.coterie.world import later

pytestmark = pytest.mark.skipif(find_spec("wandb") is None, reason="wandb is not installed")
FEDERATION = "7f0c6f0e-5a0b-4a53-8f44-0d8c8f8f1c11"
BLOCK, HEAD, NAME = 32_768, 7, b":W&B"
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def place(folder: Path, **others: str) -> WandbProject:
    given = {"mode": "offline", "project": "fleet", "entity": "", "url": "https://api.wandb.ai", "key": "", **others}
    return WandbProject(folder=str(folder), **given)  # type: ignore[arg-type]


def fact(number: int, *, federation: str = FEDERATION, **figures: float) -> RoundFact:
    return RoundFact(
        federation=federation,
        slug="digits",
        number=number,
        state="published" if number % 2 else "abandoned",
        finished_at=later(60.0 * number),
        figures={"accuracy": 0.5 + number / 100, **figures},
        reason="",
        version=VersionFact("v-1", "digits", "device", "", number, "ab" * 32) if number % 2 else None,
    )


def records_in(file: Path) -> Iterator[Any]:
    """A log as LevelDB has it (doc/log_format.md), behind a name: records in pieces, none across a block's end."""
    record_type = import_module("wandb.proto.wandb_internal_pb2").Record  # only here: it takes a second to import
    content, at, whole = file.read_bytes(), HEAD, b""
    assert content[:4] == NAME
    while at + HEAD <= len(content):
        if BLOCK - at % BLOCK < HEAD:
            at += BLOCK - at % BLOCK
            continue
        _, size, kind = struct.unpack("<IHB", content[at : at + HEAD])
        whole += content[at + HEAD : at + HEAD + size]
        at += HEAD + size
        if kind in (WHOLE, LAST):
            record = record_type.FromString(whole)
            yield record
            whole = b""


def steps_of(file: Path) -> dict[int, dict[str, str]]:
    """Of a run: its figures by step."""
    histories = [record.history for record in records_in(file) if record.WhichOneof("record_type") == "history"]
    return {
        one.step.num: {"/".join(item.nested_key) or item.key: item.value_json for item in one.item} for one in histories
    }


def test_each_federation_is_a_run_and_each_round_a_step(tmp_path: Path) -> None:
    board = WeightsAndBiases(place(tmp_path / "runs"))
    board.export([fact(3, **{"recall/0": 0.25}), fact(1, federation="other"), fact(4)])
    runs = {path.stem.removeprefix("run-"): path for path in (tmp_path / "runs").rglob("*.wandb")}
    assert set(runs) == {FEDERATION, "other"}
    steps = steps_of(runs[FEDERATION])
    assert set(steps) == {3, 4}
    assert (steps[3]["accuracy"], steps[3]["recall/0"], steps[3]["published"]) == ("0.53", "0.25", "1")
    assert (steps[4]["accuracy"], steps[4]["published"]) == ("0.54", "0")
    (run,) = [one.run for one in records_in(runs[FEDERATION]) if one.WhichOneof("record_type") == "run"]
    assert (run.run_id, run.display_name, run.project) == (FEDERATION, "digits", "fleet")
    told = b"".join(path.read_bytes() for path in runs.values())
    assert b"ab" * 32 in told, "the hash of the version's parameters"
    assert run.host == "coterie"


def test_what_it_refuses_is_to_come_again(tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    with pytest.raises(NotTaken, match="wandb"):
        WeightsAndBiases(place(tmp_path / "a file")).export([fact(1)])


def test_a_server_is_only_asked_with_a_key(settings: Settings, tmp_path: Path) -> None:
    settings.EXPORTERS, settings.WANDB_DIR, settings.WANDB_MODE = ("wandb",), tmp_path, "online"
    with pytest.raises(ImproperlyConfigured, match="COTERIE_WANDB_KEY"):
        chosen_exporters()
    settings.WANDB_KEY = "0" * 40
    assert isinstance(chosen_exporters()["wandb"], WeightsAndBiases)
