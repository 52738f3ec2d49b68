"""JSON schema of every message and of every kind that runs on the device: ``python -m coterie_learning.schema``."""

import sys
from collections.abc import Mapping

import msgspec

from coterie_learning.device_plan import CODEC, HELP, LOCAL, PERSONAL, PRIVACY
from coterie_learning.teacher import Teacher
from coterie_wire.bundle import Manifest
from coterie_wire.conditions import Requirements
from coterie_wire.messages import EXCHANGES, Problem, Refusal, Reply, Request, Wake
from coterie_wire.version import PROTOCOL

_REGISTRIES = (LOCAL, CODEC, PRIVACY, PERSONAL, HELP)
_BESIDE: tuple[type[msgspec.Struct], ...] = (Manifest, Teacher, Requirements, Problem, Request, Reply, Refusal, Wake)
"""Messages other than the requests and replies of exchanges."""


def wire_schema() -> Mapping[str, object]:
    """The exchanges by name and the kinds by slot, each a reference to the definitions."""
    exchanged = (struct for exchange in EXCHANGES.values() for struct in exchange)
    kinds = (kind for registry in _REGISTRIES for kind in registry.kinds.values())
    structs: dict[type[msgspec.Struct], None] = dict.fromkeys((*exchanged, *_BESIDE, *kinds))
    references, definitions = msgspec.json.schema_components(structs, ref_template="#/$defs/{name}")
    reference_to = dict(zip(structs, references, strict=True))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Coterie: what devices and platform say to each other",
        "protocol": PROTOCOL,
        "exchanges": {
            name: {"request": reference_to[exchange.request], "reply": reference_to[exchange.reply]}
            for name, exchange in EXCHANGES.items()
        },
        "frames": {
            "request": reference_to[Request],
            "answer": [reference_to[frame] for frame in (Reply, Refusal, Wake)],
        },
        "slots": {
            registry.slot: {name: reference_to[kind] for name, kind in sorted(registry.kinds.items())}
            for registry in _REGISTRIES
        },
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """`wire_schema` as indented JSON, the same bytes on every run."""
    return msgspec.json.format(msgspec.json.encode(wire_schema()), indent=2).decode() + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
