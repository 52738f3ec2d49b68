"""``coterie-agent predict FILE``: the outputs of the model on the device for the samples of a file."""

from typing import Literal

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.config import Config, load_config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home
from coterie_agent.ingest.file import read_rows
from coterie_agent.ingest.row import RowCheck
from coterie_agent.predicting import load_held_model
from coterie_agent.serving.platform import Platform, form_of
from coterie_agent.store.opened import Store, open_store
from coterie_wire.errors import WireError
from coterie_wire.predictions import Output as Numbers
from coterie_wire.predictions import Prediction

PATIENCE_S = 30.0
"""Seconds for the platform's answer, which a person waits for."""


class Predictions(msgspec.Struct, frozen=True):
    version: str
    """Model version that the device holds; of an answer of the platform, the version of the model there."""
    personal: bool
    """Whether the device's personal model predicted, or the version itself."""
    predictions: list[Prediction | Numbers]
    form: str
    """Which form of the version predicted: ``float32`` is the version, or the personal model, itself; ``cloud`` the
    platform's cloud model."""
    fallback: Literal["platform"] | None = None
    """Whose predictions these are: the platform's, to which the samples went; None: the device's own model's."""


def run(arguments: Arguments) -> Output:
    """Predict on the device, or by the platform where the device cannot and the plan and the owner allow it.

    Raises AgentError ``agent.no_model``, ``agent.not_joined``, ``ingest.*``, ``bundle.*`` or ``model.*``, WireError
    ``tensors.*``.
    """
    home = Home(arguments.home)
    config = load_config(home.config)
    with open_store(home) as store:
        try:
            return _output(_on_device(arguments, home, config, store))
        except (AgentError, WireError) as error:
            answered = None if _is_of_the_file(error) else _on_platform(arguments, home, config, store)
            if answered is None:
                raise
            output = _output(answered)
            return Output(output.json, [f"answered by the platform, since {error.detail}", *output.lines])


def _on_device(arguments: Arguments, home: Home, config: Config, store: Store) -> Predictions:
    held = load_held_model(store, home, threads=config.threads)
    rows = list(read_rows(arguments.file, RowCheck.of_model(held.manifest.model, labelled=False)))
    return Predictions(held.manifest.version, held.is_personal, held.predict(rows), held.form)


def _on_platform(arguments: Arguments, home: Home, config: Config, store: Store) -> Predictions | None:
    """The platform's predictions; None: it may not be asked, or has not answered, which is logged."""
    if not config.platform.send_samples:
        return None
    rows = list(read_rows(arguments.file, RowCheck(None, labelled=False)))
    asked = Platform(home, store, config).ask(rows, remaining_s=PATIENCE_S)
    if asked is None or asked.exception() is not None:
        return None
    answer = asked.result()
    return Predictions(answer.version, False, list(answer.predictions), form_of(answer), "platform")


def _is_of_the_file(error: AgentError | WireError) -> bool:
    return isinstance(error, AgentError) and error.exit_code is Exit.BAD_DATA


def _output(found: Predictions) -> Output:
    return Output(found, [f"{index}: {_shown(one)}" for index, one in enumerate(found.predictions)])


def _shown(found: Prediction | Numbers) -> str:
    if isinstance(found, Prediction):
        return f"{found.label} ({found.probability:.3f})"
    return ", ".join(f"{number:g}" for number in found.output)
