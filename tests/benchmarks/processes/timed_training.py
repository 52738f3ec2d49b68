"""The training whose steps are timed on a shaped link."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coterie.cloud.bootstrap_job import BootstrapArguments

FIRST_EPOCHS = 1
"""They are not counted: in them the order is found."""


def training_of(told: Mapping[str, Any]) -> BootstrapArguments:
    """As the benchmark has told its process."""
    directory = Path(told["directory"])
    return BootstrapArguments(
        cloud=str(directory / "cloud.pt2"),
        dataset=str(directory / "data.npz"),
        recipe={},
        loss=None,
        output=str(directory / "trained"),
        epochs=told["epochs"],
        patience=told["epochs"],
        batch_size=told["batch"],
        validation_share=0.001,
        strategy=told["strategy"],
    )
