"""A home that holds a model, and a real process that serves its predictions."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie_agent.blobs import BlobCache
from coterie_agent.home import Home
from coterie_agent.store.opened import Store, open_store
from coterie_wire.messages import Enrolled
from tests.coterie_agent.bundles import Bundle

EDGE_AGENT = Path(__file__).parents[3] / "edge_agent"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(EDGE_AGENT)}
START_S = 20


def command(home: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "coterie_agent", "--home", str(home), *arguments]


def join(store: Store, bundle: Bundle) -> None:
    """The device belongs to the platform that signed `bundle`."""
    enrolled = Enrolled(device="d1", credential="secret", platform_key=bundle.platform_key, check_in_s=30)
    store.identity.save(url="http://127.0.0.1:9", name="kiosk", enrolled=enrolled)


def hold(home: Home, store: Store, bundle: Bundle) -> None:
    """The agent's own process has fetched `bundle`, and removed what the version before had of its own."""
    cache = BlobCache(home.blobs)
    manifest = bundle.manifest
    for ref in (manifest.train_step, manifest.predict, manifest.parameters):
        cache.fetch(ref, lambda sha256, offset: iter([bundle.blobs[sha256][offset:]]), stop=lambda: False)
    store.work.hold_model(bundle.signed)
    cache.keep_only((manifest.train_step, manifest.predict, manifest.parameters))


@contextmanager
def holding(root: Path, bundle: Bundle) -> Iterator[tuple[Home, Store]]:
    """A home below `root` that holds `bundle`."""
    home = Home(root)
    with open_store(home) as store:
        join(store, bundle)
        hold(home, store, bundle)
        yield home, store


@contextmanager
def serving(home: Home) -> Iterator[subprocess.Popen[str]]:
    """The service's process, which has written its address."""
    home.serving.unlink(missing_ok=True)  # of one that was killed
    with subprocess.Popen(command(home.root, "serve"), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        try:
            ends_at = time.monotonic() + START_S
            while not home.serving.exists():
                if process.poll() is not None or time.monotonic() > ends_at:
                    process.kill()
                    raise AssertionError(process.communicate()[1])
                time.sleep(0.02)
            yield process
        finally:
            process.kill()
