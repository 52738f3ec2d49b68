"""One version of the device model on this device: what belongs to it, whether it is there, which one is held."""

from collections.abc import Callable

from msgspec import UNSET

from coterie_agent.blobs import BlobCache, Download
from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.opened import Store
from coterie_wire.bundle import BlobRef, Manifest, verify_manifest


def parts(manifest: Manifest) -> tuple[BlobRef, ...]:
    """What a device downloads of a version."""
    shared = () if manifest.frozen is None else (manifest.frozen,)
    beside = () if manifest.server_state is UNSET else (manifest.server_state,)
    return manifest.train_step, manifest.predict, *shared, manifest.parameters, *beside


def fetch_model(manifest: Manifest, blobs: BlobCache, download: Download, *, stop: Callable[[], bool]) -> bool:
    """Download every part of the version; False if `stop` returned true before."""
    return all(blobs.fetch(ref, download, stop=stop) for ref in parts(manifest))


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
    return verify_manifest(signed, store.identity.get().platform_key)
