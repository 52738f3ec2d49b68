"""``coterie-agent ingest FILE``: add samples from a file; all of them, or none and the reason."""

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.config import load_config
from coterie_agent.home import Home
from coterie_agent.ingest.file import read_rows
from coterie_agent.ingest.row import RowCheck
from coterie_agent.model import held_manifest
from coterie_agent.plural import plural
from coterie_agent.store.opened import Store, open_store


class Ingested(msgspec.Struct, frozen=True):
    stored: int
    """Samples of the file."""
    samples: int
    """Samples on the device now."""


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``ingest.*`` or ``config.invalid``."""
    home = Home(arguments.home)
    config = load_config(home.config)
    with open_store(home) as store:
        check = _check(store, replace=arguments.replace)
        rows = read_rows(arguments.file, check)
        stored = store.samples.add(
            rows, max_samples=config.max_samples, replace=arguments.replace, one_width=check.one_width
        )
        samples = store.samples.count()
    return Output(Ingested(stored, samples), [f"stored {plural(stored, 'sample')}; on the device in all: {samples}"])


def _check(store: Store, *, replace: bool) -> RowCheck:
    """Rows must fit the model, if the device holds one, else the samples that are there."""
    if store.identity.find() is not None and store.work.held_model() is not None:
        return RowCheck.of_model(held_manifest(store).model)
    return RowCheck(None if replace else store.samples.widths())
