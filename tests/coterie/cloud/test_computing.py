"""Where and how a cloud model computes, on a machine with or without GPUs."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from torch._dynamo.exc import TorchDynamoException

from coterie.child.job import Progress
from coterie.cloud.bootstrap import bootstrap_stored
from coterie.cloud.computing import translated_errors
from coterie.cloud.errors import CannotCompile, GpuFull, NoGpu
from coterie.compile.passes.devices import made_on
from coterie.compile.program import export_module
from tests.coterie.cloud.training import arguments_of, write_job


def losses(directory: Path, **how: object) -> list[float]:
    told: list[Progress] = []
    arguments = arguments_of(directory, {"kind": "one_process"})
    bootstrap_stored(msgspec.structs.replace(arguments, **how), told.append)
    return [progress.values["loss"] for progress in told]


def test_bf16_learns_alike_and_keeps_parameters_in_float32(tmp_path: Path) -> None:
    write_job(tmp_path, plain=True)
    exact = losses(tmp_path)
    size = (tmp_path / "trained").stat().st_size
    found = losses(tmp_path, precision="bf16")
    assert found != exact
    np.testing.assert_allclose(found, exact, rtol=5e-2)
    assert (tmp_path / "trained").stat().st_size == size


def test_a_gpu_that_is_not_there_is_named(tmp_path: Path) -> None:
    write_job(tmp_path, plain=True)
    with pytest.raises(NoGpu, match="none of number 100"):
        losses(tmp_path, gpus=(100,))


def test_failures_to_compute_have_codes() -> None:
    with pytest.raises(GpuFull, match="smaller batches"), translated_errors():
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nmore")
    with pytest.raises(CannotCompile, match="no compiler"), translated_errors():
        raise TorchDynamoException("no compiler was found")


class Filled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.zeros(3).to("cpu") + torch.arange(3)


def test_a_program_makes_its_tensors_on_the_device_that_it_is_moved_to() -> None:
    program = export_module(Filled(), (torch.zeros(2, 3),)).graph_module
    moved = made_on(program, torch.device("meta"))
    assert moved(torch.zeros(2, 3, device="meta"))[0].is_meta
    assert not program(torch.zeros(2, 3))[0].is_meta
