"""Bodies of requests: what they say is checked, and a field that there is not is told the nearest one."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from coterie.core.choice_field import LONGEST
from coterie_learning.unknown_names import nearest

MOST_TOLD = 20
"""Unknown fields that are told; a body may have a hundred thousand."""


def check_body(given: "serializers.Serializer[Any]") -> None:
    """Check what `given` was made of. Raises ValidationError with a sentence for each field that is wrong, or for the
    first `MOST_TOLD` that are unknown.

    Fields of `given` that only answers have are passed over. Any: rows of whatever model it is of.
    """
    sent = given.initial_data
    if isinstance(sent, Mapping) and (unknown := [str(name) for name in sent if name not in given.fields]):
        known = sorted(name for name, field in given.fields.items() if not field.read_only)
        told = [name[:LONGEST] for name in unknown[:MOST_TOLD]]
        raise serializers.ValidationError({name: _refusal(name, known) for name in told}, code="unknown")
    given.is_valid(raise_exception=True)


def _refusal(name: str, known: list[str]) -> str:
    if not known:
        return "There is no such field; none is taken."
    return f"There is no such field, the nearest is {nearest(name, known)!r}; there are {', '.join(known)}."
