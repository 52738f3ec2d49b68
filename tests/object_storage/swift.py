"""OpenStack Swift with one disk, as deploy/object-storage serves it.

Its S3 interface verifies signatures, checksums and conditions; the usual test doubles of S3 accept whatever they get.
"""

import runpy
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.free_ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build" / "swift" / "bin" / "python"
SERVE = ROOT / "deploy" / "object-storage" / "serve.py"
served = runpy.run_path(str(SERVE))
KEY_ID, REGION = served["KEY_ID"], served["REGION"]
SECRET, BUCKET = "of-the-tests-alone", "coterie"
STARTED_S = 180.0


class Swift(NamedTuple):
    """A running server."""

    url: str


def is_installed() -> bool:
    """Whether `make test-object-storage` has installed it."""
    return PYTHON.with_name("swift-proxy-server").exists()


@contextmanager
def running(root: Path) -> Iterator[Swift]:
    """A Swift with its disk in `root`, and an empty bucket."""
    port, inner_port = free_ports(1), free_ports(3)
    secret, log = root / "secret", root / "log"
    secret.write_text(SECRET)
    command = [PYTHON, SERVE, "--root", root, "--port", str(port), "--inner-port", str(inner_port)]
    with log.open("wb") as told:
        server = subprocess.Popen([*command, "--bucket", BUCKET, "--secret-file", secret], stdout=told, stderr=told)
    try:
        _wait_for_bucket(f"http://127.0.0.1:{port}", server, log)
        yield Swift(f"http://127.0.0.1:{port}")
    finally:
        server.terminate()
        server.wait()


def _wait_for_bucket(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    bucket, ends_at = f"{url}/{BUCKET}", time.monotonic() + STARTED_S
    while True:
        assert server.poll() is None and time.monotonic() < ends_at, log.read_text()[-4000:]
        try:
            if httpx.head(bucket, headers=served["signed"]("HEAD", bucket, SECRET), timeout=10).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
