"""Models over rows of a table."""

import torch
from torch import Tensor, nn


def mlp(features: int, classes: int, width: int = 64) -> nn.Module:
    return nn.Sequential(
        nn.Linear(features, 2 * width),
        nn.LayerNorm(2 * width),
        nn.GELU(),
        nn.Linear(2 * width, width),
        nn.LayerNorm(width),
        nn.Tanh(),
        nn.Linear(width, classes),
    )


class Recommender(nn.Module):
    """How a user will rate an article in a context: embeddings and a perceptron (He et al. 2017)."""

    def __init__(self, users: int, articles: int, ratings: int, features: int, wide: int = 32) -> None:
        super().__init__()
        self.user = nn.Embedding(users, wide)
        self.article = nn.Embedding(articles, wide)
        self.perceptron = nn.Sequential(
            nn.Linear(2 * wide + features, 2 * wide), nn.ReLU(), nn.Linear(2 * wide, wide), nn.ReLU()
        )
        self.head = nn.Linear(2 * wide, ratings)

    def forward(self, user: Tensor, article: Tensor, context: Tensor) -> Tensor:
        who, what = self.user(user), self.article(article)
        deep = self.perceptron(torch.cat([who, what, context], dim=1))
        logits: Tensor = self.head(torch.cat([who * what, deep], dim=1))
        return logits
