"""``coterie-agent predict FILE``: the outputs of the model on the device for the samples of a file."""

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.config import load_config
from coterie_agent.home import Home
from coterie_agent.ingest.file import read_rows
from coterie_agent.ingest.row import RowCheck
from coterie_agent.predicting import load_held_model
from coterie_agent.store.opened import open_store
from coterie_wire.predictions import Output as Numbers
from coterie_wire.predictions import Prediction


class Predictions(msgspec.Struct, frozen=True):
    version: str
    """Model version that the device holds."""
    personal: bool
    """Whether the device's personal model predicted, or the version itself."""
    predictions: list[Prediction | Numbers]
    form: str
    """Which form of the version predicted: ``float32`` is the version, or the personal model, itself."""


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.no_model``, ``agent.not_joined``, ``ingest.*``, ``bundle.*`` or ``model.*``."""
    home = Home(arguments.home)
    config = load_config(home.config)
    with open_store(home) as store:
        held = load_held_model(store, home, threads=config.threads)
    rows = list(read_rows(arguments.file, RowCheck.of_model(held.manifest.model, labelled=False)))
    predictions = held.predict(rows)
    return Output(
        Predictions(held.manifest.version, held.is_personal, predictions, held.form),
        [f"{index}: {_shown(found)}" for index, found in enumerate(predictions)],
    )


def _shown(found: Prediction | Numbers) -> str:
    if isinstance(found, Prediction):
        return f"{found.label} ({found.probability:.3f})"
    return ", ".join(f"{number:g}" for number in found.output)
