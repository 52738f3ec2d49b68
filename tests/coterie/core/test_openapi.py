"""The REST API's description: what a reader has to be shown."""

import json
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

SELF_EXPLAINING = ("uuid", "date-time", "date", "binary")


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    described: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return described


def test_every_field_has_an_example_or_needs_none(description: dict[str, Any]) -> None:
    bare = {
        f"{schema}.{name}"
        for schema, described in description["components"]["schemas"].items()
        for name, field in described.get("properties", {}).items()
        if "example" not in field
        and "$ref" not in json.dumps(field)
        and field.get("format") not in SELF_EXPLAINING
        and field.get("type") != "boolean"
        and "enum" not in field
    }
    assert sorted(bare) == []


def test_an_example_is_of_its_fields_type(description: dict[str, Any]) -> None:
    python = {"string": str, "integer": int, "number": (int, float), "array": list, "object": dict, "boolean": bool}
    for schema, described in description["components"]["schemas"].items():
        for name, field in described.get("properties", {}).items():
            if "example" in field and "type" in field:
                assert isinstance(field["example"], python[field["type"]]), f"{schema}.{name}"
