"""How the operators' REST API tells of a simulation: how it stands, its figures, and by what a list is sorted."""

from typing import TypeVar

from django.db.models import JSONField
from rest_framework import serializers

from coterie.core.figured import Figured

F = TypeVar("F", bound=Figured)
STANDING = ("state", "progress", "left_s", "reason_code", "reason_sentence")
TIMES = ("created_at", "started_at", "finished_at")
FIGURED = (*STANDING, *(field.name for field in Figured._meta.local_fields), *TIMES)
"""Fields of a serializer that all simulations have."""
SORTS = {
    name: name
    for name in (
        *("created_at", "finished_at", "progress", "state"),
        *(field.name for field in Figured._meta.local_fields if field.null and not isinstance(field, JSONField)),
    )
}


class FiguredSerializer(serializers.ModelSerializer[F]):
    """A simulation, how far it is, and a few figures of what it found."""

    accuracies = serializers.ListField(
        child=serializers.FloatField(), read_only=True, allow_null=True, help_text="of some rounds, in their order"
    )
