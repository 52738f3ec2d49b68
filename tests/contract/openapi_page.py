"""The OpenAPI document of the operators' REST API, from which the console's client is generated."""

import json
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")


def openapi_page() -> str:
    """docs/reference/openapi.json."""
    django.setup()
    from drf_spectacular.generators import SchemaGenerator

    return json.dumps(SchemaGenerator().get_schema(request=None, public=True), indent=1, ensure_ascii=False) + "\n"
