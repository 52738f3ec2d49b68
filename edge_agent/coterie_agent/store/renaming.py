"""Renames fields of stored JSON that an earlier release wrote under other names."""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping

REPORTED = {"told": "reported", "told_drifting": "reported_drifting", "batches_untold": "batches_unreported"}
"""New names, by old name, of fields on what was reported to the platform between rounds."""
WATCH = "watch"
"""The field of a `coterie_agent.store.peers.Reading` that holds JSON in turn, in base64; it may be empty."""


def with_reported(content: bytes) -> bytes:
    """A row of the table ``peers`` with the current names; other fields are unchanged."""
    fields = _renamed(json.loads(content))
    if fields.get(WATCH):
        watch = _renamed(json.loads(b64decode(str(fields[WATCH]))))
        fields[WATCH] = b64encode(_encoded(watch)).decode()
    return _encoded(fields)


def _renamed(fields: Mapping[str, object]) -> dict[str, object]:
    return {REPORTED.get(name, name): content for name, content in fields.items()}


def _encoded(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
