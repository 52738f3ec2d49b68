"""How the operators' REST API tells that what single devices answered was deleted, some time after the end."""

from typing import TypeVar

from django.db.models import Model
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from coterie.core.pruning import deleted_after_days

M = TypeVar("M", bound=Model)


class AgedSerializer(serializers.ModelSerializer[M]):
    """What has an end (`ended_at`), and rows of single devices that are deleted a while after it."""

    answers_deleted_after_days = serializers.SerializerMethodField()

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_answers_deleted_after_days(self, row: M) -> int | None:
        """So many days after its end what single devices answered was deleted; null: it is kept still."""
        return deleted_after_days(row.ended_at, now=timezone.now())  # type: ignore[attr-defined]  # as its class says
