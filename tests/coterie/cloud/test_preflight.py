from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from coterie.child.job import Progress
from coterie.cloud.preflight import preflight_stored
from coterie.cloud.preflight_job import LabelsMismatch, PreflightArguments
from coterie.compile.program import export_module
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import evaluate, read_frozen
from coterie_wire.tensors import decode_tensors

REGRESSION = {
    "loss": {"kind": "mean_squared_error"},
    "optimiser": {"kind": "adamw"},
    "trains": {"kind": "adapters", "rank": 2, "names": ["3.*"]},
    "clipping": True,
}


def ignore(_progress: Progress) -> None:
    pass


@pytest.fixture
def arguments(tmp_path: Path) -> PreflightArguments:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(40, 40), nn.BatchNorm1d(40), nn.Dropout(0.1), nn.Linear(40, 2))
    for name in ("device.pt2", "cloud.pt2"):
        torch.export.save(export_module(module, (torch.zeros(2, 40),)), tmp_path / name)
    paths = {name: str(tmp_path / name) for name in ("train_step", "predict", "parameters", "frozen", "teacher")}
    given = {"device": str(tmp_path / "device.pt2"), "cloud": str(tmp_path / "cloud.pt2"), "batch_size": 4}
    return PreflightArguments(**given, **paths, labels=(), recipe=REGRESSION)


def test_a_pair_of_any_recipe_is_compiled_and_tried(arguments: PreflightArguments) -> None:
    result = preflight_stored(arguments, ignore)
    model = result.model
    assert (model.task, model.classes, model.head, model.seeded) == ("values", 0, None, True)
    assert {spec.name for spec in model.parameters} == {"3.weight", "3.bias", "0.weight.lora_a", "0.weight.lora_b"}
    assert model.scalars == (
        "learning_rate",
        "step",
        "weight_decay",
        "clip_norm",
        "proximal_weight",
        "distillation_weight",
    )
    assert result.frozen is not None
    assert result.teacher is None
    parameters = decode_tensors(Path(arguments.parameters).read_bytes(), expected=model.version)
    x = np.random.default_rng(0).normal(size=(5, 40)).astype(np.float32)
    found = evaluate(
        Path(arguments.predict).read_bytes(),
        {name: tensor.astype(np.float32) for name, tensor in parameters.items()},
        Dataset({model.inputs[0].name: x}, np.zeros((5, 2), np.float32)),
        model,
        read_frozen(arguments.frozen, model),
    )
    assert found.accuracy is None
    assert found.loss > 0


def test_labels_of_what_has_none_are_refused(arguments: PreflightArguments) -> None:
    named = PreflightArguments(
        **{**{f: getattr(arguments, f) for f in arguments.__struct_fields__}, "labels": ("a", "b")}
    )
    with pytest.raises(LabelsMismatch):
        preflight_stored(named, ignore)
