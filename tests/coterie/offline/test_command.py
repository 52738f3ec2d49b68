"""``coterie compile`` as a command, with real child processes."""

from pathlib import Path

import msgspec
import pytest
import torch
from torch import nn

from coterie.cloud.preflight_job import PreflightResult
from coterie.compile.program import export_module
from coterie.offline.command import Refusal, main

PROG = "coterie compile"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.pt2"
    module = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    torch.export.save(export_module(module, (torch.zeros(2, 6),)), path)
    return path


def test_it_tells_what_a_model_takes_and_writes_what_devices_get(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "recipe.toml").write_text('loss = { kind = "mean_squared_error" }\n[trains]\nkind = "adapters"\n')
    options = ["--recipe", str(tmp_path / "recipe.toml"), "--set", "trains.rank=2", "--batch-size", "4", "--json"]
    with pytest.raises(SystemExit) as ended:
        main([str(model), *options, "--out", str(tmp_path / "out")], prog=PROG)
    assert ended.value.code == 0
    told = msgspec.json.decode(capsys.readouterr().out, type=PreflightResult)
    assert (told.model.task, told.model.batch_size) == ("values", 4)
    assert told.report.device_parameters == 2 * (6 + 8) + 2 * (8 + 2)
    assert told.report.cloud_parameters is None
    out = tmp_path / "out"
    assert msgspec.json.decode((out / "report.json").read_bytes(), type=PreflightResult) == told
    blobs = {"train_step.onnx": told.train_step, "parameters.safetensors": told.parameters}
    assert {name: (out / name).stat().st_size for name in blobs} == {n: blob.size_bytes for n, blob in blobs.items()}


def test_a_hostile_file_is_refused_with_its_code_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.pt2").write_bytes(b"PK, but no archive")
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "model.pt2"), "--json", "--out", str(tmp_path / "out")], prog=PROG)
    assert ended.value.code == 1
    told = capsys.readouterr()
    refusal = msgspec.json.decode(told.out, type=Refusal)
    assert refusal.code == "compile.malformed_upload"
    assert refusal.fields.keys() == {"detail"}
    assert told.err == f"{PROG}: {refusal.detail} [{refusal.code}]\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (["--set", "loss.padding=1"], 1, "[recipe.invalid]"),
        (["--loss", "surprise"], 2, "invalid choice"),
        (["--batch-size", "0"], 2, "--batch-size goes from 1 to 4096"),
        (["--recipe", "/no/such/recipe.toml"], 2, "there is no file"),
        (["--out", "/no/such/place/out"], 2, "there is no directory /no/such/place"),
        (["--out", __file__], 2, "is no directory"),
    ],
)
def test_arguments_that_do_not_fit_are_told(
    model: Path, options: list[str], status: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(model), *options], prog=PROG)
    assert ended.value.code == status
    assert told in capsys.readouterr().err
