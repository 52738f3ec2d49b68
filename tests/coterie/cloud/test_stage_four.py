"""Colla's stage 4 on a pair whose models are small enough for seconds, and real enough to learn."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from torch import nn

from coterie.child.job import Progress
from coterie.cloud.averaging import read_parameters
from coterie.cloud.averaging_job import StoredUpdate
from coterie.cloud.checkpoints import read_checkpoint
from coterie.cloud.distill_merge_job import (
    DistillMergeArguments,
    DistillMergeResult,
    Lineage,
    NoSoundModel,
    TrainedModel,
)
from coterie.cloud.epochs import Moment
from coterie.cloud.program import CloudProgram
from coterie.cloud.stage_four import merge_by_distillation
from coterie.compile.compiled import compile_model
from coterie.compile.program import export_module
from coterie.compile.upload import load_upload
from coterie_learning.codec.float32 import Float32Codec
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import encode_tensors

FEATURES, CLASSES, SAMPLES = 4, 3, 90
GOOD, TURNED, BROKEN = (0, 1, 2), (1, 2, 0), (0, 0, 0)
"""Behaviours: for each class, the feature whose value speaks for it."""
MERGE = {"kind": "distill", "epochs": 6, "learning_rate": 0.02, "device_epochs": 4, "batch_size": 16}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pair's files, and cloud data whose class is the largest of the first three features."""
    path = tmp_path_factory.mktemp("pair")
    torch.manual_seed(0)
    cloud = nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, CLASSES))
    torch.export.save(export_module(cloud, [torch.zeros(2, FEATURES)]), path / "cloud.pt2")
    (path / "cloud").write_bytes(CloudProgram(load_upload(path / "cloud.pt2")).save())
    compiled = compile_model(export_module(nn.Linear(FEATURES, CLASSES), [torch.zeros(2, FEATURES)]), batch_size=16)
    (path / "train_step").write_bytes(compiled.train_step)
    (path / "predict").write_bytes(compiled.predict)
    (path / "spec").write_bytes(msgspec.json.encode(compiled.spec))
    (path / "device").write_bytes(encode_tensors(compiled.parameters))
    x = np.random.default_rng(0).normal(size=(SAMPLES, FEATURES)).astype(np.float32)
    np.savez(path / "data.npz", x=x, y=x[:, :CLASSES].argmax(axis=1))
    return path


def trained(pair: Path, place: Path, behaviours: Sequence[tuple[int, ...]], *, lineage: str = "") -> list[TrainedModel]:
    """Devices' models of these behaviours, each a little different from the next."""
    model = msgspec.json.decode((pair / "spec").read_bytes(), type=ModelSpec)
    base = read_parameters(pair / "device", model)
    models = []
    for number, behaviour in enumerate(behaviours):
        wanted = np.zeros((CLASSES, FEATURES), np.float32)
        wanted[np.arange(CLASSES), behaviour] = 3
        wanted += np.random.default_rng(number).normal(scale=0.2, size=wanted.shape).astype(np.float32)
        update = {"weight": wanted - base["weight"], "bias": -base["bias"]}
        payload = Float32Codec().encode(update, seed=0).payload
        sha256 = hashlib.sha256(payload).hexdigest()
        (place / sha256).write_bytes(payload)
        models.append(TrainedModel(StoredUpdate(str(place / sha256), sha256, 20), str(pair / "device"), lineage))
    return models


def arguments(pair: Path, place: Path, models: Sequence[TrainedModel], **changes: object) -> DistillMergeArguments:
    for name in ("checkpoints", "output"):
        (place / name).mkdir(exist_ok=True)
    given = DistillMergeArguments(
        model=msgspec.json.decode((pair / "spec").read_bytes(), type=ModelSpec),
        train_step=str(pair / "train_step"),
        predict=str(pair / "predict"),
        cloud=str(pair / "cloud.pt2"),
        dataset=str(pair / "data.npz"),
        held_out=str(pair / "data.npz"),
        frozen=None,
        lineages=(Lineage("", str(pair / "cloud"), str(pair / "device")),),
        groups_named=0,
        models=tuple(models),
        local={"kind": "sgd"},
        codec={"kind": "float32"},
        merge=MERGE,
        groups={"kind": "one"},
        checkpoints=str(place / "checkpoints"),
        output=str(place / "output"),
        seed=1,
    )
    return msgspec.structs.replace(given, **changes)


def silent(_progress: Progress) -> None: ...


def merge(pair: Path, place: Path, models: Sequence[TrainedModel], **changes: object) -> DistillMergeResult:
    return merge_by_distillation(arguments(pair, place, models, **changes), silent)


def place_in(directory: Path, name: str) -> Path:
    path = directory / name
    path.mkdir()
    return path


def test_the_cloud_model_learns_from_good_devices_and_the_device_model_from_it(pair: Path, tmp_path: Path) -> None:
    result = merge(pair, tmp_path, trained(pair, tmp_path, [GOOD] * 4))
    (base,) = result.lineages
    assert base.cloud_before is not None and base.cloud_after is not None
    assert base.device_before is not None and base.device_after is not None
    assert base.cloud_after.accuracy > base.cloud_before.accuracy
    assert base.device_after.accuracy > base.device_before.accuracy
    assert all(share is not None and 0 <= share <= 1 for share in base.device_after.class_accuracy)
    assert base.cross_entropy_gap_after < base.cross_entropy_gap_before
    assert (base.models, sum(judged.kept for judged in result.judged)) == (3, 3)


def test_a_kill_at_any_moment_and_another_order_change_no_bit(pair: Path, tmp_path: Path) -> None:
    whole = merge(pair, place_in(tmp_path, "whole"), models := trained(pair, tmp_path, [GOOD] * 3))
    broken = place_in(tmp_path, "broken")
    for lives in (0, 2, 2, 1):
        left = [lives]

        def die(_progress: Progress, left: list[int] = left) -> None:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1

        with pytest.raises(KeyboardInterrupt):
            merge_by_distillation(arguments(pair, broken, models[::-1]), die)
    again = merge(pair, broken, models[::-1])
    assert again.lineages == whole.lineages
    assert again.judged == whole.judged[::-1]


def moments(place: Path) -> dict[str, Moment]:
    """How far the cloud model and the device model are, by their checkpoints."""
    paths = {name: place / "checkpoints" / f"base.{name}" for name in ("cloud", "device")}
    found = {name: read_checkpoint(path) for name, path in paths.items()}
    return {name: stored.moment for name, stored in found.items() if stored is not None}


@pytest.mark.parametrize("most", [2, 5])
def test_a_kill_within_an_epoch_changes_no_bit_and_costs_a_step(pair: Path, tmp_path: Path, most: int) -> None:
    whole = merge(pair, place_in(tmp_path, "whole"), models := trained(pair, tmp_path, [GOOD] * 3))
    broken = place_in(tmp_path, "broken")
    given = arguments(pair, broken, models, checkpoint_s=0)
    seen: list[dict[str, Moment]] = []
    result = None
    while result is None:
        told: list[Progress] = []

        def die(progress: Progress, told: list[Progress] = told) -> None:
            told.append(progress)
            if len(told) == most:
                raise KeyboardInterrupt

        with suppress(KeyboardInterrupt):
            result = merge_by_distillation(given, die)
        seen.append(moments(broken))
    for name in ("cloud", "device"):
        reached = [at[name] for at in seen if name in at]
        assert reached == sorted(reached), "each attempt goes on where the one before was"
        assert sum(at.steps > 0 for at in reached) > 3, "it was interrupted within epochs"
    assert result == whole


def test_checkpoints_that_the_disk_has_damaged_change_no_bit(pair: Path, tmp_path: Path) -> None:
    whole = merge(pair, place_in(tmp_path, "whole"), models := trained(pair, tmp_path, [GOOD] * 3))
    broken = place_in(tmp_path, "broken")
    left = [6]

    def die(_progress: Progress) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merge_by_distillation(arguments(pair, broken, models), die)
    kept = sorted(path for path in (broken / "checkpoints").iterdir() if path.is_file())
    assert [path.name for path in kept] == ["base.cloud", "outputs", "outputs.json"]
    for path in kept:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1 << 6
        path.write_bytes(content)
    assert merge(pair, broken, models) == whole


def test_with_all_weight_on_the_labels_devices_do_not_matter(pair: Path, tmp_path: Path) -> None:
    labels = {**MERGE, "lambda_c": 1}
    good = merge(pair, place_in(tmp_path, "good"), trained(pair, tmp_path, [GOOD]), merge=labels)
    turned = merge(pair, place_in(tmp_path, "turned"), trained(pair, tmp_path, [TURNED]), merge=labels)
    assert good.lineages[0].cloud == turned.lineages[0].cloud


def test_a_poisoned_model_is_dropped(pair: Path, tmp_path: Path) -> None:
    result = merge(pair, tmp_path, trained(pair, tmp_path, [GOOD, TURNED, GOOD]))
    assert [judged.kept for judged in result.judged] == [True, False, True]
    accuracies = [judged.accuracy or 0 for judged in result.judged]
    assert accuracies[1] < 0.4 < 0.8 < min(accuracies[0], accuracies[2])


def test_a_model_that_overflows_is_dropped_and_nothing_else_with_it(pair: Path, tmp_path: Path) -> None:
    models = trained(pair, tmp_path, [GOOD, GOOD])
    huge = {"weight": np.full((CLASSES, FEATURES), 3e38, np.float32), "bias": np.zeros(CLASSES, np.float32)}
    payload = Float32Codec().encode(huge, seed=0).payload
    sha256 = hashlib.sha256(payload).hexdigest()
    (tmp_path / sha256).write_bytes(payload)
    broken = msgspec.structs.replace(models[0], update=StoredUpdate(str(tmp_path / sha256), sha256, 20))
    result = merge(pair, tmp_path, [broken, *models])
    assert [judged.accuracy is None for judged in result.judged] == [True, False, False]
    assert [judged.kept for judged in result.judged] == [False, True, True]
    with pytest.raises(NoSoundModel):
        merge(pair, place_in(tmp_path, "alone"), [broken])


def test_two_behaviours_become_two_groups_that_keep_their_names(pair: Path, tmp_path: Path) -> None:
    behaviours = [GOOD, TURNED] * 3
    models = trained(pair, tmp_path, behaviours)
    affinity = {"kind": "affinity", "least_members": 2}
    split = merge(pair, place_in(tmp_path, "split"), models, groups=affinity, merge={**MERGE, "lambda_c": 0.1})
    names = [judged.lineage for judged in split.judged]
    assert len(set(names)) == 2 and names == names[:2] * 3
    assert split.lineages[0].name == "" and {lineage.name for lineage in split.lineages[1:]} == set(names)
    assert all(lineage.cross_entropy_gap_after < lineage.cross_entropy_gap_before for lineage in split.lineages[1:])
    own = Lineage(names[1], str(pair / "cloud"), str(pair / "device"))
    former = [
        msgspec.structs.replace(model, lineage=names[1] if index % 2 else "") for index, model in enumerate(models)
    ]
    again = merge(
        pair,
        place_in(tmp_path, "again"),
        former,
        groups=affinity,
        lineages=(Lineage("", own.cloud, own.device), own),
        groups_named=2,
    )
    assert [judged.lineage for judged in again.judged] == ["group-3", names[1]] * 3


def test_a_class_that_a_device_lacks_is_zero_in_its_output(pair: Path, tmp_path: Path) -> None:
    (whole,) = trained(pair, tmp_path, [GOOD])
    base = read_parameters(pair / "device", msgspec.json.decode((pair / "spec").read_bytes(), type=ModelSpec))
    rows = {name: np.zeros_like(tensor[:2]) for name, tensor in base.items()}
    payload = Float32Codec().encode(rows, seed=0).payload
    sha256 = hashlib.sha256(payload).hexdigest()
    (tmp_path / sha256).write_bytes(payload)
    lacking = msgspec.structs.replace(whole, update=StoredUpdate(str(tmp_path / sha256), sha256, 5, (0, 2)))
    given = arguments(pair, tmp_path, [lacking], local={"kind": "distill", "head": "seen"})
    merge_by_distillation(given, silent)
    outputs = np.fromfile(tmp_path / "checkpoints" / "outputs", np.float16).reshape(1, SAMPLES, CLASSES)
    assert not outputs[0, :, 1].any()
    assert np.allclose(outputs.sum(axis=2), 1, atol=1e-3)
