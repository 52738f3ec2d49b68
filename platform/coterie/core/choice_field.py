"""Choices in requests: what is none of them is told the nearest one, and those that there are."""

from collections.abc import Iterable
from typing import NoReturn

from rest_framework import serializers

from coterie_learning.unknown_names import nearest

FEW = 20
"""So many choices can be read in one sentence."""
NAMED = 3
"""Choices that are named where there are more."""
LONGEST = 60
"""Characters that are repeated of what was given."""


class ChoiceField(serializers.ChoiceField):
    """One of a few words."""

    def fail(self, key: str, **parts: object) -> NoReturn:
        """Raises ValidationError."""
        if key == "invalid_choice":
            raise serializers.ValidationError(self._refusal(str(parts["input"])), code=key)
        super().fail(key, **parts)

    def _refusal(self, given: str) -> str:
        known = [str(choice) for choice in self.choices]
        begun = given[:LONGEST]
        shown = repr(given if given == begun else f"{begun}…")
        if len(known) <= FEW:
            return f"There is no {shown}, the nearest is {nearest(begun, known)!r}; there are {', '.join(known)}."
        near = ", ".join(repr(one) for one in _nearest(begun, known))
        return f"There is no {shown}, the nearest of {len(known)} are {near}."


class MultipleChoiceField(ChoiceField, serializers.MultipleChoiceField):
    """Several of a few words."""


def _nearest(given: str, known: Iterable[str]) -> Iterable[str]:
    left = set(known)
    for _ in range(NAMED):
        found = nearest(given, left)
        assert found is not None, "more are known than are named"
        left.discard(found)
        yield found
