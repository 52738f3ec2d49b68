"""Device models of every kind that the compiler covers, shared by tests and benchmarks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

CLASSES = 10


@dataclass(frozen=True)
class Entry:
    """A model, and the shape of one sample: floats, or whole numbers below `vocabulary`."""

    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    vocabulary: int | None = None
    learning_rate: float = 0.05

    def samples(self, count: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        if self.vocabulary is not None:
            return torch.randint(0, self.vocabulary, (count, *self.shape), generator=generator)
        return torch.randn(count, *self.shape, generator=generator)


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(64, 128),
        nn.LayerNorm(128),
        nn.GELU(),
        nn.Linear(128, 64),
        nn.LayerNorm(64),
        nn.Tanh(),
        nn.Linear(64, CLASSES),
    )


def cnn_max_pool() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, CLASSES),
    )


def cnn_strided() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.GroupNorm(4, 32),
        nn.SiLU(),
        nn.Conv2d(32, 32, 3, stride=2, padding=1),
        nn.LeakyReLU(0.1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, CLASSES),
    )


def cnn_avg_pool() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 12, 5),
        nn.InstanceNorm2d(12, affine=True),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(12, 24, 3, dilation=2),
        nn.GroupNorm(1, 24),
        nn.ELU(),
        nn.AvgPool2d(3, stride=2, padding=1),
        nn.Flatten(),
        nn.Linear(24 * 4 * 4, CLASSES),
    )


def cnn_overlapping_pool() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
        nn.Conv2d(16, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, ceil_mode=True),
        nn.Flatten(),
        nn.LazyLinear(CLASSES),
    )


def cnn_depthwise() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1, groups=16),
        nn.Conv2d(16, 32, 1),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, stride=2, padding=1, groups=32),
        nn.Conv2d(32, 64, 1),
        nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, CLASSES),
    )


class Recurrent(nn.Module):
    """The last state of a recurrent layer over embeddings."""

    def __init__(self, layer: Callable[..., nn.GRU | nn.LSTM]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(200, 32)
        self.recurrent = layer(32, 48, batch_first=True)
        self.head = nn.Linear(48, CLASSES)

    def forward(self, words: Tensor) -> Tensor:
        states, _ = self.recurrent(self.embedding(words))
        logits: Tensor = self.head(states[:, -1])
        return logits


class Attentive(nn.Module):
    """One transformer layer over embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(200, 32)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(32, CLASSES)

    def forward(self, words: Tensor) -> Tensor:
        logits: Tensor = self.head(self.layer(self.embedding(words)).mean(dim=1))
        return logits


ZOO: Mapping[str, Entry] = {
    "mlp": Entry(mlp, (64,)),
    "cnn_max_pool": Entry(cnn_max_pool, (1, 28, 28)),
    "cnn_strided": Entry(cnn_strided, (3, 32, 32)),
    "cnn_avg_pool": Entry(cnn_avg_pool, (1, 28, 28)),
    "cnn_overlapping_pool": Entry(cnn_overlapping_pool, (3, 32, 32)),
    "cnn_depthwise": Entry(cnn_depthwise, (3, 32, 32)),
    "gru": Entry(lambda: Recurrent(nn.GRU), (6,), vocabulary=200),
    "lstm": Entry(lambda: Recurrent(nn.LSTM), (6,), vocabulary=200),
    "attention": Entry(Attentive, (6,), vocabulary=200),
}
