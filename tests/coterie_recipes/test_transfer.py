"""The recipe with a backbone: its file, and what the device model takes of it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from coterie_recipes.photos.generator import draw
from coterie_recipes.recipe import UnreadableData, accuracy
from coterie_recipes.transfer.backbone import SHAPES, read_backbone
from coterie_recipes.transfer.models import DeviceModel, Network
from coterie_recipes.transfer.pretraining import pretrain, write_backbone


def share_right(network: Network) -> float:
    """Of the pictures of people whom nobody has trained on, of the backbone's own task."""
    people = [draw(5, number) for number in range(10)]
    with torch.no_grad():
        return float(np.mean([accuracy(network(torch.from_numpy(one.test.x)).numpy(), one) for one in people]))


def test_the_backbone_that_is_shipped_does_what_it_was_trained_for() -> None:
    whole, none = Network(), Network()
    whole.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in read_backbone().items()})
    assert share_right(whole) > 0.85
    assert share_right(none) < 0.4


def test_the_device_model_begins_as_the_backbone_but_for_its_head() -> None:
    brought, state = read_backbone(), DeviceModel().state_dict()
    same = {name: np.array_equal(tensor, state[name].numpy()) for name, tensor in brought.items()}
    assert {name for name, is_same in same.items() if not is_same} == {"head.weight", "head.bias"}


@pytest.mark.long
def test_a_backbone_is_made_by_training_and_brought_as_a_file(tmp_path: Path) -> None:
    network = pretrain(people=6, epochs=3)
    write_backbone(network, tmp_path / "mine.npz")
    brought = read_backbone(tmp_path / "mine.npz")
    assert np.array_equal(DeviceModel(brought).state_dict()["parts.weight"].numpy(), brought["parts.weight"])
    again = pretrain(people=6, epochs=3)
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in network.state_dict().items())


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"parts.bias": None}, "parts.bias is missing"),
        ({"parts.bias": np.zeros(47)}, r"parts.bias is \(47,\), and must be \(48,\)"),
        ({"gates": np.zeros(1)}, "gates is .*, and must be left out"),
        ({"head.bias": np.full(8, np.nan)}, "head.bias is not finite"),
    ],
)
def test_a_file_of_another_network_is_refused(
    changed: dict[str, np.ndarray | None], match: str, tmp_path: Path
) -> None:
    tensors = {**{name: np.zeros(shape, np.float32) for name, shape in SHAPES.items()}, **changed}
    np.savez(tmp_path / "other.npz", **{name: tensor for name, tensor in tensors.items() if tensor is not None})
    with pytest.raises(UnreadableData, match=match):
        read_backbone(tmp_path / "other.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no archive"])
def test_what_is_no_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(UnreadableData, match=r"bad\.npz"):
        read_backbone(tmp_path / "bad.npz")


def test_a_backbone_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableData, match="nothing"):
        read_backbone(tmp_path / "nothing.npz")
