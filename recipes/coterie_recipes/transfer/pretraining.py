"""Makes the backbone: `Network` trained on the pictures of many people of ``photos``, as a public data set would be.

``python -m coterie_recipes.transfer.pretraining FILE`` writes it to FILE; a minute of one core.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from coterie_recipes.photos.generator import draw
from coterie_recipes.transfer.models import Network

SEED = 900_000
"""Of a population of which nobody takes part in anything else."""
PEOPLE, EPOCHS, BATCH = 120, 12, 64
LEARNING_RATE = 2e-3


def pretrain(*, people: int = PEOPLE, epochs: int = EPOCHS) -> Network:
    """A network that tells the things of ``photos`` apart, the same whenever it is made on one machine."""
    drawn = [draw(SEED, number) for number in range(people)]
    parts = [part for person in drawn for part in (person.train, person.test)]
    x = torch.from_numpy(np.concatenate([part.x for part in parts]))
    y = torch.from_numpy(np.concatenate([part.y for part in parts]))
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        network = Network()
        steps = epochs * -(-len(y) // BATCH)
        optimiser = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
        pace = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        for _ in range(epochs):
            order = torch.randperm(len(y))
            for start in range(0, len(y), BATCH):
                rows = order[start : start + BATCH]
                optimiser.zero_grad()
                loss = cross_entropy(network(x[rows]), y[rows], label_smoothing=0.05)
                loss.backward()  # type: ignore[no-untyped-call]  # PyTorch has no types for it
                optimiser.step()
                pace.step()
    return network.eval()


def write_backbone(network: Network, path: Path) -> None:
    """As `read_backbone` reads it."""
    tensors = {name: tensor.detach().numpy() for name, tensor in network.state_dict().items()}
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **tensors)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train the backbone and write it to a file.")
    parser.add_argument("file", type=Path)
    write_backbone(pretrain(), parser.parse_args().file)
