"""Models over words."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


class Recurrent(nn.Module):
    """A recurrent layer over embeddings; the last state, or `every` state, tells the next word."""

    def __init__(
        self,
        layer: Callable[..., nn.RNNBase],
        vocabulary: int,
        embedded: int,
        hidden: int,
        *,
        every: bool = False,
    ) -> None:
        super().__init__()
        self.every = every
        self.embedding = nn.Embedding(vocabulary, embedded)
        self.recurrent = layer(embedded, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, words: Tensor) -> Tensor:
        states, _ = self.recurrent(self.embedding(words))
        logits: Tensor = self.head(states if self.every else states[:, -1])
        return logits


class TiedRecurrent(nn.Module):
    """Words are read and written by the same weights (Press and Wolf 2017), as on keyboards (Hard et al. 2018)."""

    def __init__(self, vocabulary: int, embedded: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedded)
        self.recurrent = nn.LSTM(embedded, hidden, batch_first=True)
        self.narrow = nn.Linear(hidden, embedded)
        self.head = nn.Linear(embedded, vocabulary)
        self.head.weight = self.embedding.weight

    def forward(self, words: Tensor) -> Tensor:
        states, _ = self.recurrent(self.embedding(words))
        logits: Tensor = self.head(self.narrow(states[:, -1]))
        return logits


class Encoder(nn.Module):
    """A Transformer encoder (Vaswani et al. 2017) over a sequence; word 0 is padding and counts for nothing."""

    def __init__(self, classes: int, vocabulary: int, length: int, wide: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, wide, padding_idx=0)
        self.position = nn.Parameter(0.02 * torch.randn(length, wide))
        layer = nn.TransformerEncoderLayer(wide, 4, 2 * wide, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(wide, classes)

    def forward(self, words: Tensor) -> Tensor:
        padding = words == 0
        encoded = self.encoder(self.embedding(words) + self.position[: words.shape[1]], src_key_padding_mask=padding)
        kept = (~padding).unsqueeze(-1).to(encoded.dtype)
        logits: Tensor = self.head((encoded * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1))
        return logits


class _CausalBlock(nn.Module):
    """Attention to what came before, then a perceptron; normalised first, as in GPT-2 (Radford et al. 2019)."""

    def __init__(self, wide: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(wide)
        self.attention = nn.Linear(wide, 3 * wide)
        self.joined = nn.Linear(wide, wide)
        self.perceptron = nn.Sequential(
            nn.LayerNorm(wide), nn.Linear(wide, 4 * wide), nn.GELU(approximate="tanh"), nn.Linear(4 * wide, wide)
        )

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.attention(self.attention_norm(x)).chunk(3, dim=-1)
        )
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.joined(seen.transpose(1, 2).flatten(2))
        return x + self.perceptron(x)


class CausalTransformer(nn.Module):
    """A small language model, whose words are read and written by the same weights."""

    def __init__(self, vocabulary: int, length: int, wide: int, layers: int, *, every: bool = False) -> None:
        super().__init__()
        self.every = every
        self.embedding = nn.Embedding(vocabulary, wide)
        self.position = nn.Embedding(length, wide)
        self.blocks = nn.Sequential(*(_CausalBlock(wide, 4) for _ in range(layers)))
        self.norm = nn.LayerNorm(wide)
        self.head = nn.Linear(wide, vocabulary, bias=False)
        self.head.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=0.02)

    def forward(self, words: Tensor) -> Tensor:
        places = torch.arange(words.shape[1], device=words.device)
        states = self.blocks(self.embedding(words) + self.position(places))
        logits: Tensor = self.head(self.norm(states if self.every else states[:, -1]))
        return logits
