"""docs/reference/device-export.schema.json: what is in the export of a device, field by field."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import django
import msgspec
from django.db import models

from coterie_agent.exporting import DeviceExport

if TYPE_CHECKING:
    from coterie.owners.sections import Section

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
REFERENCES = "#/$defs/{name}"
KINDS: Mapping[type[models.Field], Mapping[str, object]] = {
    models.BooleanField: {"type": "boolean"},
    models.FloatField: {"type": "number"},
    models.IntegerField: {"type": "integer"},
    models.AutoField: {"type": "integer"},
    models.UUIDField: {"type": "string", "format": "uuid"},
    models.DateTimeField: {"type": "string", "format": "date-time"},
    models.DateField: {"type": "string", "format": "date"},
    models.BinaryField: {"type": "string", "contentEncoding": "base64"},
    models.JSONField: {},
    models.CharField: {"type": "string"},
    models.TextField: {"type": "string"},
}


def device_export_schema() -> str:
    """The page."""
    django.setup()
    from coterie.owners.exporting import RECEIPTS
    from coterie.owners.receipts import Receipt
    from coterie.owners.sections import SECTIONS

    schemas, definitions = msgspec.json.schema_components((DeviceExport, Receipt), ref_template=REFERENCES)
    sections = {section.name: _section(section) for section in SECTIONS}
    sections[RECEIPTS] = {
        "type": "array",
        "description": "Everything that left the device to be learned from, what covered it, and what became of it.",
        "items": schemas[1],
    }
    definitions["PlatformExport"]["properties"]["sections"] = {"type": "object", "properties": sections}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What is known of a device",
        "description": "`coterie-agent export` prints all of it; the REST API gives `platform`. Generated.",
        **schemas[0],
        "$defs": definitions,
    }
    return msgspec.json.format(msgspec.json.encode(document, order="deterministic"), indent=2).decode() + "\n"


def _section(section: "Section") -> Mapping[str, object]:
    columns = {column.attname: column for column in section.model._meta.concrete_fields}
    fields = {name: _kind(columns[name]) for name in section.columns()}
    return {"type": "array", "description": section.says, "items": {"type": "object", "properties": fields}}


def _kind(column: models.Field) -> Mapping[str, object]:
    found = column
    while isinstance(found, models.ForeignKey):
        found = found.target_field
    kind = next(kind for base in type(found).__mro__ if (kind := KINDS.get(base)) is not None)
    return {"anyOf": [kind, {"type": "null"}]} if column.null and kind else kind
