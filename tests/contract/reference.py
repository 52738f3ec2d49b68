"""The generated pages of docs/reference: ``python -m tests.contract.reference`` (``make reference``) writes them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from coterie.simulation.schema import schema_text as simulation_schema_text
from coterie_agent.serving.openapi import openapi
from coterie_learning.schema import schema_text
from tests.contract.architecture_picture import architecture_picture
from tests.contract.error_catalogue import ROOT, errors_page
from tests.contract.export_schema import device_export_schema
from tests.contract.glossary_page import glossary_page
from tests.contract.kinds_page import kinds_page
from tests.contract.leaving_page import leaving_page
from tests.contract.openapi_page import console_page, openapi_page
from tests.contract.recipes_page import recipes_page

REFERENCE = ROOT / "docs" / "reference"

PAGES: Mapping[Path, Callable[[], str]] = {
    ROOT / "docs" / "images" / "architecture.svg": architecture_picture,
    ROOT / "docs" / "glossary.md": glossary_page,
    REFERENCE / "device-export.schema.json": device_export_schema,
    REFERENCE / "errors.md": errors_page,
    REFERENCE / "kinds.md": kinds_page,
    REFERENCE / "console.schema.json": console_page,
    REFERENCE / "openapi.json": openapi_page,
    REFERENCE / "recipes.md": recipes_page,
    REFERENCE / "predictions.openapi.json": lambda: msgspec.json.format(openapi(), indent=2).decode() + "\n",
    REFERENCE / "simulation.schema.json": simulation_schema_text,
    REFERENCE / "what-leaves.md": leaving_page,
    REFERENCE / "wire.schema.json": schema_text,
}

if __name__ == "__main__":
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path, text in PAGES.items():
        path.write_text(text(), encoding="utf-8")
