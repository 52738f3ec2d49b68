"""The pair for pictures, float32 [n, 3, 16, 16] in 0..1: a network that begins as a backbone from a file."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from coterie_recipes.photos.models import CloudModel, example
from coterie_recipes.recipe import Float32
from coterie_recipes.transfer.backbone import HEAD, read_backbone

__all__ = ["CloudModel", "DeviceModel", "Network", "example"]
CLASSES = 8


class Network(nn.Module):
    """68,664 parameters, drawn at random. [n, 3, 16, 16] to logits [n, 8].

    Two convolutions find outlines; two linear layers, which adapters are added to, put them together.
    """

    def __init__(self) -> None:
        super().__init__()
        self.edges = nn.Conv2d(3, 32, kernel_size=3, padding=1)
        self.parts = nn.Conv2d(32, 48, kernel_size=3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.hidden = nn.Linear(48 * 4 * 4, 64)
        self.features = nn.Linear(64, 64)
        self.head = nn.Linear(64, CLASSES)

    def forward(self, picture: Tensor) -> Tensor:
        found = self.pool(torch.relu(self.edges(picture)))
        found = self.pool(torch.relu(self.parts(found)))
        found = torch.relu(self.features(torch.relu(self.hidden(found.flatten(1)))))
        logits: Tensor = self.head(found)
        return logits


class DeviceModel(Network):
    """68,664 parameters, all but those of the head from the backbone's file. [n, 3, 16, 16] to logits [n, 8]."""

    def __init__(self, backbone: Mapping[str, Float32] | None = None) -> None:
        """`backbone` is what `read_backbone` gives; None: the one that is shipped."""
        super().__init__()
        brought = read_backbone() if backbone is None else backbone
        kept = {name: torch.from_numpy(tensor) for name, tensor in brought.items() if not name.startswith(f"{HEAD}.")}
        self.load_state_dict(kept, strict=False)
