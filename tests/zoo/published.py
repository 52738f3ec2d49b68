"""Models as they are published and taught, none of which the compiler was written for."""

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.compile.recipe.loss.next_token import NextToken
from coterie_wire.length import Length
from tests.zoo.entry import Entry, Indices, Numbers, Sentences

VOCABULARY, CLASSES = 40, 5


class RootMeanSquare(nn.Module):
    """Zhang and Sennrich 2019, arXiv 1910.07467, equation 4."""

    def __init__(self, wide: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(wide))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def turned(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotary positions (Su et al. 2021, arXiv 2104.09864, equation 34)."""
    first, second = x.chunk(2, dim=-1)
    return x * cosines + torch.cat([-second, first], dim=-1) * sines


class GroupedAttention(nn.Module):
    """Several queries share a key and a value (Ainslie et al. 2023, arXiv 2305.13245); no layer has a bias."""

    def __init__(self, wide: int, heads: int, shared: int) -> None:
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, wide // heads
        self.query, self.out = nn.Linear(wide, wide, bias=False), nn.Linear(wide, wide, bias=False)
        self.key, self.value = (nn.Linear(wide, shared * self.size, bias=False) for _ in range(2))

    def forward(self, x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query = self.query(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        key, value = (
            layer(x).view(batch, length, self.shared, self.size).transpose(1, 2) for layer in (self.key, self.value)
        )
        query, key = turned(query, cosines, sines), turned(key, cosines, sines)
        key, value = (part.repeat_interleave(self.heads // self.shared, dim=1) for part in (key, value))
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        out: Tensor = self.out(seen.transpose(1, 2).reshape(batch, length, -1))
        return out


class Decoder(nn.Module):
    """Llama (Touvron et al. 2023, arXiv 2302.13971, section 2.2), narrow."""

    def __init__(self, layers: int = 2, wide: int = 16, heads: int = 4, shared: int = 2, longest: int = 12) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, wide)
        self.norms = nn.ModuleList(RootMeanSquare(wide) for _ in range(2 * layers + 1))
        self.attention = nn.ModuleList(GroupedAttention(wide, heads, shared) for _ in range(layers))
        self.gates, self.ups = (
            nn.ModuleList(nn.Linear(wide, 2 * wide, bias=False) for _ in range(layers)) for _ in range(2)
        )
        self.downs = nn.ModuleList(nn.Linear(2 * wide, wide, bias=False) for _ in range(layers))
        self.head = nn.Linear(wide, VOCABULARY, bias=False)
        size = wide // heads
        speeds = 10_000 ** -(torch.arange(0, size, 2) / size)
        angles = torch.outer(torch.arange(longest).float(), speeds).repeat(1, 2)
        self.register_buffer("cosines", angles.cos())
        self.register_buffer("sines", angles.sin())

    def forward(self, words: Tensor) -> Tensor:
        length = words.shape[1]
        x, cosines, sines = self.embedding(words), self.cosines[:length], self.sines[:length]
        parts = zip(self.attention, self.gates, self.ups, self.downs, strict=True)
        for number, (attention, gate, up, down) in enumerate(parts):
            x = x + attention(self.norms[2 * number](x), cosines, sines)
            hidden = self.norms[2 * number + 1](x)
            x = x + down(functional.silu(gate(hidden)) * up(hidden))
        logits: Tensor = self.head(self.norms[-1](x))
        return logits


class Reader(nn.Module):
    """BERT (Devlin et al. 2018, arXiv 1810.04805), narrow; attention and the mean leave out what is padding."""

    def __init__(self, layers: int = 2, wide: int = 16, heads: int = 4, longest: int = 12) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, wide, padding_idx=0), nn.Embedding(longest, wide)
        self.norm = nn.LayerNorm(wide)
        self.attention = nn.ModuleList(nn.MultiheadAttention(wide, heads, batch_first=True) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(wide) for _ in range(2 * layers))
        self.wide = nn.ModuleList(
            nn.Sequential(nn.Linear(wide, 4 * wide), nn.GELU(), nn.Linear(4 * wide, wide)) for _ in range(layers)
        )
        self.head = nn.Linear(wide, CLASSES)

    def forward(self, words: Tensor) -> Tensor:
        x = self.norm(self.words(words) + self.places(torch.arange(words.shape[1])))
        padding = words == 0
        for number, (attention, wide) in enumerate(zip(self.attention, self.wide, strict=True)):
            seen, _ = attention(x, x, x, key_padding_mask=padding, need_weights=False)
            x = self.norms[2 * number](x + seen)
            x = self.norms[2 * number + 1](x + wide(x))
        present = (~padding).float().unsqueeze(-1)
        logits: Tensor = self.head((x * present).sum(dim=1) / present.sum(dim=1))
        return logits


class BothWays(nn.Module):
    """Two GRUs, one over each sample turned round, under attention (Yang et al. 2016, section 2.2) to what is there."""

    def __init__(self, embedded: int = 8, hidden: int = 12) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, embedded)
        self.forwards, self.backwards = (nn.GRU(embedded, hidden, batch_first=True) for _ in range(2))
        self.scores, self.head = nn.Linear(2 * hidden, 1, bias=False), nn.Linear(2 * hidden, CLASSES)

    def forward(self, words: Tensor) -> Tensor:
        x, steps, lengths = self.embedding(words), torch.arange(words.shape[1]), (words != 0).sum(dim=1, keepdim=True)
        turned = torch.where(steps < lengths, lengths - 1 - steps, steps).unsqueeze(-1)
        ahead, _ = self.forwards(x)
        back, _ = self.backwards(x.gather(1, turned.expand_as(x)))
        states = torch.cat([ahead, back.gather(1, turned.expand_as(back))], dim=2)
        weights = self.scores(states).squeeze(-1).masked_fill(words == 0, -math.inf).softmax(dim=1)
        logits: Tensor = self.head((weights.unsqueeze(1) @ states).squeeze(1))
        return logits


class Depth(nn.Module):
    """Stochastic depth, as torchvision and timm write it: of some samples the branch is left out."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.share == 0:
            return x
        kept = 1 - self.share
        return x * x.new_empty((x.shape[0], *[1] * (x.dim() - 1))).bernoulli_(kept).div_(kept)


class Excited(nn.Module):
    """Squeeze and excitation (Hu et al. 2017, arXiv 1709.01507, equations 2 to 4)."""

    def __init__(self, channels: int, narrow: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, narrow, 1), nn.Conv2d(narrow, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(self.up(functional.silu(self.down(x.mean((2, 3), keepdim=True)))))


class Inverted(nn.Module):
    """A block of EfficientNet (Tan and Le 2019, arXiv 1905.11946, section 4)."""

    def __init__(self, taken: int, given: int, kernel: int, stride: int, wider: int, share: float) -> None:
        super().__init__()
        wide = taken * wider
        self.branch = nn.Sequential(
            nn.Conv2d(taken, wide, 1, bias=False),
            nn.BatchNorm2d(wide),
            nn.SiLU(),
            nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False),
            nn.BatchNorm2d(wide),
            nn.SiLU(),
            Excited(wide, max(1, taken // 4)),
            nn.Conv2d(wide, given, 1, bias=False),
            nn.BatchNorm2d(given),
        )
        self.skips, self.depth = stride == 1 and taken == given, Depth(share)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.branch(x)
        return x + self.depth(found) if self.skips else found


def efficient_net(wide: int = 4, share: float = 0.0) -> nn.Module:
    """EfficientNet, lite; `share` of the samples go past a block in training."""
    return nn.Sequential(
        nn.Conv2d(3, wide, 3, 2, 1, bias=False),
        nn.BatchNorm2d(wide),
        nn.SiLU(),
        Inverted(wide, wide, 3, 1, 1, share),
        Inverted(wide, 2 * wide, 3, 2, 4, share),
        Inverted(2 * wide, 2 * wide, 5, 1, 4, share),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * wide, CLASSES),
    )


class TemporalConvolutions(nn.Module):
    """Bai, Kolter and Koltun 2018, arXiv 1803.01271, section 3, with weights that are a direction and a length."""

    def __init__(self, normed: Callable[[nn.Module], nn.Module], channels: int = 3, wide: int = 8) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            normed(nn.Conv1d(wide if level else channels, wide, 3, padding=2 * 2**level, dilation=2**level))
            for level in range(3)
        )
        self.head = normed(nn.Linear(wide, CLASSES))

    def forward(self, x: Tensor) -> Tensor:
        for level, layer in enumerate(self.layers):
            found = functional.relu(layer(x)[:, :, : x.shape[2]])
            x = found + x if level else found
        logits: Tensor = self.head(x[:, :, -1])
        return logits


def critic(normed: Callable[[nn.Module], nn.Module]) -> nn.Module:
    """Spectral normalisation (Miyato et al. 2018, arXiv 1802.05957, section 4), narrow."""
    return nn.Sequential(
        normed(nn.Conv2d(3, 4, 3, 2, 1)),
        nn.LeakyReLU(0.1),
        normed(nn.Conv2d(4, 8, 4, 2, 1)),
        nn.LeakyReLU(0.1),
        nn.Flatten(),
        normed(nn.Linear(8 * 4 * 4, CLASSES)),
    )


class Sensors(nn.Module):
    """DeepConvLSTM (Ordóñez and Roggen 2016, doi 10.3390/s16010115, section 2.2), narrow: windows [steps, channels]."""

    def __init__(self, channels: int = 3, filters: int = 8, hidden: int = 6) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, filters, (5, 1))
        self.second = nn.Conv2d(filters, filters, (3, 1), padding=(2, 0), dilation=(2, 1))
        self.layers = nn.LSTM(channels * filters, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.second(functional.relu(self.first(x.unsqueeze(1)))))
        states, _ = self.layers(x.transpose(1, 2).flatten(2))
        logits: Tensor = self.head(states[:, -1])
        return logits


class Projected(nn.Module):
    """Words, and a matrix for each of them: a product on three axes."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.weight = nn.Embedding(VOCABULARY, 8), nn.Parameter(torch.randn(8, VOCABULARY) / 8)

    def forward(self, words: Tensor) -> Tensor:
        return self.embedding(words) @ self.weight


def words(longest: int) -> Length:
    return Length(1, longest, {"words": 0})


OF_ANY_LENGTH: Mapping[str, Entry] = {
    "decoder": Entry(Decoder, (Indices((12,), VOCABULARY),), VOCABULARY, NextToken(), length=words(12)),
    "projected": Entry(Projected, (Indices((9,), VOCABULARY),), VOCABULARY, NextToken(), length=words(9)),
    "reader": Entry(Reader, (Sentences((12,), VOCABULARY),), CLASSES, length=words(12)),
    "both_ways": Entry(BothWays, (Sentences((9,), VOCABULARY),), CLASSES, length=words(9)),
}

OF_ONE_SHAPE: Mapping[str, Entry] = {
    "decoder": Entry(Decoder, (Indices((12,), VOCABULARY),), VOCABULARY, NextToken()),
    "reader": Entry(Reader, (Sentences((12,), VOCABULARY),), CLASSES),
    "efficient_net": Entry(efficient_net, (Numbers((3, 16, 16)),), CLASSES, learning_rate=0.005),
    "temporal": Entry(
        lambda: TemporalConvolutions(nn.utils.parametrizations.weight_norm), (Numbers((3, 20)),), CLASSES
    ),
    "sensors": Entry(Sensors, (Numbers((16, 3)),), CLASSES),
    "critic": Entry(lambda: critic(nn.utils.parametrizations.spectral_norm), (Numbers((3, 16, 16)),), CLASSES),
}
