"""The registry's tables in Django's admin, read-only; changes go through the API, which checks them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.registry.models import (
    Alias,
    Blob,
    Dataset,
    Description,
    ModelPair,
    ModelVersion,
    TeacherWeights,
    Variant,
    VersionDifference,
)


@admin.register(ModelPair)
class ModelPairAdmin(ReadOnlyAdmin):
    """Model pairs."""

    list_display = ["slug", "state", "reason_code", "created_at"]
    list_filter = ["state"]
    search_fields = ["slug", "name"]


@admin.register(ModelVersion)
class ModelVersionAdmin(ReadOnlyAdmin):
    """Versions."""

    list_display = ["pair", "lineage", "role", "number", "origin", "created_at"]
    list_filter = ["role", "origin", "pair"]


@admin.register(Alias)
class AliasAdmin(ReadOnlyAdmin):
    """Aliases."""

    list_display = ["pair", "lineage", "role", "name", "version", "moved_at"]


@admin.register(Variant)
class VariantAdmin(ReadOnlyAdmin):
    """Smaller forms of versions."""

    list_display = ["version", "name", "graph", "reason_code", "made_at"]
    list_filter = ["name", "reason_code"]


@admin.register(Dataset)
class DatasetAdmin(ReadOnlyAdmin):
    """Data sets."""

    list_display = ["name", "rows", "classes", "created_at"]
    search_fields = ["name"]


@admin.register(Blob)
class BlobAdmin(ReadOnlyAdmin):
    """Blobs."""

    list_display = ["sha256", "size_bytes", "created_at"]
    search_fields = ["sha256"]


@admin.register(VersionDifference)
class VersionDifferenceAdmin(ReadOnlyAdmin):
    """Differences that devices download instead of whole versions."""

    list_display = ["version", "codec", "blob"]


@admin.register(TeacherWeights)
class TeacherWeightsAdmin(ReadOnlyAdmin):
    """Teacher weights."""

    list_display = ["version", "blob"]


@admin.register(Description)
class DescriptionAdmin(ReadOnlyAdmin):
    """Names and notes of versions."""

    list_display = ["version", "name", "archived_at"]
    search_fields = ["name", "notes"]
