"""A platform whose object storage nobody answers for: a real client, and a port at which nobody listens."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from django.test import override_settings
from pytest import MonkeyPatch

from coterie.config import settings

ALIASES = ("default", "uploads")


@contextmanager
def storage_away() -> Iterator[None]:
    """As long as the block lasts; what was kept before is there again afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    place = {"endpoint": f"http://127.0.0.1:{port}", "public_endpoint": "", "region": "r", "bucket": "b", "prefix": ""}
    away = {
        alias: {
            "BACKEND": "coterie.storage.objects.ObjectStorage",
            "OPTIONS": {**place, "folder": alias, "key_id": "k", "secret": "s"},
        }
        for alias in ALIASES
    }
    with override_settings(STORAGES={**settings.STORAGES, **away}), MonkeyPatch.context() as patch:
        patch.setattr("coterie.storage.objects.RETRIED_S", 0)
        patch.setattr("coterie.storage.objects.TRIES", 1)
        yield
