"""Bodies of requests: what they say is checked, and a field that there is not is told the nearest one."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from coterie_learning.unknown_names import nearest

LONGEST = 60
"""Characters of an unknown field's name that are repeated."""


def check_body(given: "serializers.Serializer[Any]") -> None:
    """Check what `given` was made of. Raises ValidationError with a sentence for each field that is wrong or unknown.

    Fields of `given` that only answers have are passed over. Any: rows of whatever model it is of.
    """
    sent = given.initial_data
    if isinstance(sent, Mapping) and (unknown := [str(name) for name in sent if name not in given.fields]):
        known = sorted(name for name, field in given.fields.items() if not field.read_only)
        raise serializers.ValidationError({name[:LONGEST]: _refusal(name, known) for name in unknown}, code="unknown")
    given.is_valid(raise_exception=True)


def _refusal(name: str, known: list[str]) -> str:
    if not known:
        return "There is no such field; none is taken."
    return f"There is no such field, the nearest is {nearest(name, known)!r}; there are {', '.join(known)}."
