"""``coterie-agent ingest FILE``: add samples from a file; all of them, or none and the reason."""

from collections.abc import Iterator

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
    repeated: int
    """Those of the file that equal one that was on the device before."""


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
        ingested = Ingested(stored, store.samples.count(), store.samples.repeated(stored))
    return Output(ingested, list(_lines(ingested)))


def _lines(ingested: Ingested) -> Iterator[str]:
    yield f"stored {plural(ingested.stored, 'sample')}; on the device in all: {ingested.samples}"
    if ingested.repeated:
        yield (
            f"{ingested.repeated} of them equal samples that were there before; if the file was given twice, keep it "
            "once with: coterie-agent ingest --replace FILE"
        )


def _check(store: Store, *, replace: bool) -> RowCheck:
    """Rows must fit the model, if the device holds one, else the samples that are there."""
    if store.identity.find() is not None and store.work.held_model() is not None:
        return RowCheck.of_model(held_manifest(store).model)
    return RowCheck(None if replace else store.samples.widths())
