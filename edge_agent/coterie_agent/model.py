"""One version of the device model on this device: what belongs to it, whether it is there, which one is held."""

import logging
from collections.abc import Callable

from msgspec import UNSET

from coterie_agent.blobs import BlobCache, Download
from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.opened import Store
from coterie_wire.bundle import BlobRef, Difference, Manifest, verify_manifest
from coterie_wire.errors import WireError

log = logging.getLogger(__name__)


def parts(manifest: Manifest) -> tuple[BlobRef, ...]:
    """What a device downloads of a version."""
    shared = () if manifest.frozen is None else (manifest.frozen,)
    beside = () if manifest.server_state is UNSET else (manifest.server_state,)
    return manifest.train_step, manifest.predict, *shared, manifest.parameters, *beside


def fetch_model(
    manifest: Manifest,
    blobs: BlobCache,
    download: Download,
    *,
    stop: Callable[[], bool],
    difference: Difference | None = None,
) -> bool:
    """Download every part of the version; False if `stop` returned true before.

    Its parameters are made of a `difference`, where one is given that leads to them from parameters that are there.
    """
    if (
        difference is not None
        and not blobs.has(manifest.parameters)
        and not _make_parameters(manifest, difference, blobs, download, stop=stop)
        and stop()
    ):
        return False
    return all(blobs.fetch(ref, download, stop=stop) for ref in parts(manifest))


def _make_parameters(
    manifest: Manifest, difference: Difference, blobs: BlobCache, download: Download, *, stop: Callable[[], bool]
) -> bool:
    """Whether the parameters could be made of the difference; where not, they are to be downloaded whole."""
    # Only here: an agent that does not train is spared NumPy's memory.
    from coterie_learning.differences import next_file

    base = blobs.find(difference.base)
    if base is None or not blobs.fetch(difference.blob, download, stop=stop):
        return False
    try:
        made = next_file(blobs.read(difference.blob), base, manifest.model)
        blobs.keep(manifest.parameters, made)
    except (WireError, AgentError) as error:
        log.warning("the difference to version %d cannot be used, which comes whole: %s", manifest.number, error)
        return False
    finally:
        blobs.remove([difference.blob])
    log.info("made version %d of a difference of %d bytes", manifest.number, difference.blob.size_bytes)
    return True


def is_complete(manifest: Manifest, blobs: BlobCache) -> bool:
    """Whether every part of the version is on the device."""
    return all(blobs.has(ref) for ref in parts(manifest))


def held_manifest(store: Store) -> Manifest:
    """The version that the device holds.

    Raises AgentError ``agent.not_joined`` or ``agent.no_model``.
    """
    signed = store.work.held_model()
    if signed is None:
        detail = "the device holds no model yet; it gets one from the platform while the agent runs"
        raise AgentError("agent.no_model", detail, exit_code=Exit.NO_MODEL)
    return verify_manifest(signed, *store.identity.keys().pinned())
