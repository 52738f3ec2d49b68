"""Takes the smaller forms of the held version: downloads, runs and measures them, and settles which one predicts."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from coterie_agent.blobs import BlobCache, Download
from coterie_agent.errors import AgentError
from coterie_agent.store.variants import KnownForms
from coterie_wire.bundle import Manifest, SignedManifest
from coterie_wire.errors import WireError
from coterie_wire.latency import Histogram
from coterie_wire.variants import digest_of, verify_variants

if TYPE_CHECKING:
    from coterie_agent.training.predictor import Predictor

log = logging.getLogger(__name__)
FLOAT32 = "float32"
"""The version itself."""


def take_forms(
    signed: SignedManifest,
    manifest: Manifest,
    *,
    platform_keys: tuple[bytes, ...],
    blobs: BlobCache,
    variants: BlobCache,
    download: Download,
    threads: int,
    within_s: float,
    stop: Callable[[], bool],
) -> KnownForms | None:
    """What the device knows of the forms that `signed` lists, of the version that it holds.

    A form that does not run here is passed over. None if `stop` returned true before. Raises WireError ``bundle.*``
    where the list is not the platform's or is another version's, AgentError ``bundle.*`` or ``model.*``, Unreachable.
    """
    from coterie_agent.training.forms import choose_form, measure_form  # only here, as in Worker
    from coterie_agent.training.model import Model
    from coterie_agent.training.predictor import Predictor

    listed = verify_variants(signed, *platform_keys)
    if listed.version != manifest.version:
        raise WireError("bundle.malformed", "the list of smaller forms is of another version than the device holds")
    if not all(variants.fetch(form.graph, download, stop=stop) for form in listed.variants):
        return None
    model = Model(manifest, blobs)
    spec = manifest.model
    whole = Predictor(model.predict(), spec, model.parameters(), model.frozen(), threads=threads)
    forms: dict[str, Histogram] = {}
    graphs = {form.name: form.graph for form in listed.variants}

    def measure(name: str, predictor: "Predictor") -> bool:
        measured = measure_form(predictor, spec, stop=stop)
        if measured is not None:
            forms[name] = measured
        return measured is not None

    if not measure(FLOAT32, whole):
        return None
    for name, graph in graphs.items():
        try:
            if not measure(name, Predictor.self_contained(variants.read(graph), spec, threads=threads)):
                return None
        except AgentError as error:
            log.warning("the form %s of the model does not run here: %s [%s]", name, error.detail, error.code)
    chosen = choose_form(forms, within_s=within_s)
    variants.keep_only(graphs.values())
    log.info("%s predicts", ", ".join(f"{name} {_shown(one)}" for name, one in forms.items()) + f"; {chosen}")
    return KnownForms(listed.version, digest_of(signed), forms, chosen, graphs.get(chosen))


def _shown(histogram: Histogram) -> str:
    half = histogram.quantile_s(0.5)
    return "was not measured" if half is None else f"takes {1e6 * half:.0f} µs"
