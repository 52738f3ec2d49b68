"""What the console's client is generated from: the OpenAPI document, and the JSON schema of its socket's frames."""

import json
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")


def console_page() -> str:
    """docs/reference/console.schema.json."""
    django.setup()
    from coterie.gateway.console.frames import console_schema

    return json.dumps(console_schema(), indent=1, ensure_ascii=False) + "\n"


def openapi_page() -> str:
    """docs/reference/openapi.json."""
    django.setup()
    from drf_spectacular.generators import SchemaGenerator

    return json.dumps(SchemaGenerator().get_schema(request=None, public=True), indent=1, ensure_ascii=False) + "\n"
