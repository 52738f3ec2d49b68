"""A version becomes a state dict of the user's module, which then predicts as the graph of devices does."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from coterie.cloud.program import CloudProgram
from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.program import export_module
from coterie.compile.recipe import parse_recipe
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session, predict_logits
from coterie.sdk.errors import OtherModule, SdkError
from coterie.sdk.state_dict import read_version, state_dict
from coterie_wire.tensors import Tensors, encode_tensors

CLASSES = 3


class Reading(nn.Module):
    """Words through a recurrent network with tied weights, and a constant that does not travel."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(CLASSES, 8)
        self.gru = nn.GRU(8, 8, batch_first=True)
        self.out = nn.Linear(8, CLASSES, bias=False)
        self.out.weight = self.words.weight
        self.register_buffer("offset", torch.tensor([0.5, -0.5, 0.0]))

    def forward(self, words: Tensor) -> Tensor:
        found, _ = self.gru(self.words(words))
        logits: Tensor = self.out(found[:, -1]) + self.offset
        return logits


def normalised() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, CLASSES))


def wide() -> nn.Module:
    """Large enough for its first weight to be frozen in int8."""
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, CLASSES))


ADAPTERS = {"trains": {"kind": "adapters", "rank": 2, "alpha": 3.0, "names": ["2.*"], "weights": ["0.*"]}}
CASES = {
    "running statistics": (normalised, torch.randn(5, 4), {}),
    "tied weights": (Reading, torch.tensor([[0, 1, 2], [2, 2, 1]]), {}),
    "frozen": (wide, torch.randn(5, 64), {"trains": {"kind": "named", "names": ["2.*"]}}),
    "adapters": (wide, torch.randn(5, 64), ADAPTERS),
}


def archive(path: Path, parameters: Tensors, compiled: CompiledModel | None = None) -> Path:
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("parameters.safetensors", encode_tensors(parameters))
        if compiled is not None and compiled.frozen:
            target.writestr("frozen.safetensors", encode_tensors(compiled.frozen))
    return path


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_the_module_predicts_as_devices_do(tmp_path: Path, case: str) -> None:
    make, example, raw = CASES[case]
    torch.manual_seed(0)
    published = make()
    compiled = compile_model(export_module(published, (example,)), parse_recipe(raw), batch_size=4)
    rng = np.random.default_rng(1)
    learned = {  # as rounds have left them: everything that trains has moved
        name: (tensor + np.abs(rng.normal(scale=0.1, size=tensor.shape))).astype(np.float32)
        for name, tensor in compiled.parameters.items()
    }
    torch.manual_seed(5)
    module = make() if not compiled.frozen else published
    if isinstance(module, Reading):
        module.load_state_dict(published.state_dict())
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    found = state_dict(module, read_version(archive(tmp_path / "version.zip", learned, compiled)), raw)
    assert all(torch.equal(tensor, module.state_dict()[name]) for name, tensor in before.items()), "it is left alone"

    module.load_state_dict(found, strict=True)
    with torch.no_grad():
        mine = module.eval()(example).numpy()
    dataset = Dataset({compiled.spec.inputs[0].name: example.numpy()}, np.zeros(len(example), np.int64))
    theirs = predict_logits(open_session(compiled.predict), learned, dataset, compiled.frozen)
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_so_does_the_cloud_model(tmp_path: Path) -> None:
    torch.manual_seed(0)
    published, x = normalised(), torch.randn(6, 4)
    cloud = CloudProgram(export_module(published, (x,)))
    with torch.no_grad():
        for tensor in cloud.parameters.values():
            tensor.add_(torch.rand_like(tensor))
    path = tmp_path / "version.zip"
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("parameters.safetensors", cloud.save())
    module = normalised()
    module.load_state_dict(state_dict(module, read_version(path), {}), strict=True)
    with torch.no_grad():
        mine = module.eval()(x)
    theirs = cloud.logits(Dataset({"input": x.numpy()}, np.zeros(6, np.int64)))
    torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (nn.Sequential(nn.Linear(4, 9)), r"'0\.weight' of shape \[8, 4\], the module has one of shape \[9, 4\]"),
        (nn.Linear(4, 8), r"'0\.weight' of shape \[8, 4\], the module has none of that name"),
    ],
)
def test_another_module_is_refused(tmp_path: Path, module: nn.Module, says: str) -> None:
    learned = {"0.weight": np.zeros((8, 4), np.float32)}
    with pytest.raises(OtherModule, match=says):
        state_dict(module, read_version(archive(tmp_path / "version.zip", learned)), {})


def test_what_is_no_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "version.zip").write_bytes(b"not a zip file")
    with pytest.raises(SdkError, match="cannot be read"):
        read_version(tmp_path / "version.zip")


def test_a_large_frozen_weight_travels_in_int8() -> None:
    """Without which the test above would not see that it is made again as graphs make it."""
    compiled = compile_model(
        export_module(wide(), (torch.zeros(2, 64),)), parse_recipe(CASES["frozen"][2]), batch_size=4
    )
    assert "int8" in {spec.dtype for spec in compiled.spec.frozen}
