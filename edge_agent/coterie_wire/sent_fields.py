"""What each message and file that leaves a device tells, field by field, from the structs of the wire."""

import typing
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from coterie_wire.leaving import LEAVES, Disclosure
from coterie_wire.messages import EXCHANGES

_UPDATE = ("update: parameters", "update: running statistics", "update: numbers of the algorithm")
FILES_SENT: Mapping[str, Sequence[str]] = {
    "update": _UPDATE,
    "update to a supernode": _UPDATE,
    "masked-update": ("masked vector",),
    "portion": ("portion",),
    "partial": ("partial aggregate",),
    "sum to a supernode": ("partial aggregate",),
    "model to a peer": ("model among peers",),
    "signal to a peer": ("signal",),
    "address record": ("address record",),
    "announcement": ("announcement",),
    "roles of an island": ("roles of an island",),
    "question for an address": ("question for an address",),
}
"""What is in each file, by the name under which an agent counts what it has sent."""


def fields_of(message: str) -> Sequence[str]:
    """``STRUCT.FIELD`` of everything in a message that devices send, in their order."""
    return list(dict.fromkeys(_fields_in(EXCHANGES[message].request)))


def disclosures_in(what: str) -> Sequence[Disclosure]:
    """What tells a message or file that an agent counts under this name; nothing where it only asks for something."""
    names = fields_of(what) if what in EXCHANGES else FILES_SENT.get(what, ())
    return [LEAVES[name] for name in names]


def _fields_in(struct: type[msgspec.Struct]) -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        nested = list(_structs_in(field.type))
        for one in nested:
            yield from _fields_in(one)
        if not nested:
            yield f"{struct.__name__}.{field.name}"


def _structs_in(of: object) -> Iterator[type[msgspec.Struct]]:
    if isinstance(of, type) and issubclass(of, msgspec.Struct):
        yield of
    for part in typing.get_args(of):
        yield from _structs_in(part)
