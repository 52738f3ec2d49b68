"""How the REST API is described: the parameters of lists, problems as errors, examples."""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from coterie.core.api_examples import EXAMPLES, IN_OTHER_PLACES
from coterie.core.csv_table import CsvRenderer
from coterie.core.listing import ListedViewSet, NoFilter

PROBLEM = {
    "type": "object",
    "description": "An error as RFC 9457 problem+json; docs/reference/errors.md lists the codes.",
    "required": ["code", "title", "status", "detail", "type", "fields"],
    "properties": {
        "code": {"type": "string", "description": "stable, for programs", "example": "acting.role_needed"},
        "title": {"type": "string", "example": "Forbidden"},
        "status": {"type": "integer", "example": 403},
        "detail": {"type": "string", "example": "This needs the role operator; yours is viewer."},
        "type": {"type": "string", "example": "about:blank"},
        "fields": {
            "type": "object",
            "description": "what the sentence in `detail` is made of; of a bad body, the fault by field",
            "additionalProperties": True,
            "example": {"needed": "operator", "role": "viewer"},
        },
    },
}
ERRORS = {
    "400": "The body or the query is none that can be read.",
    "401": "Nobody is signed in, or the token has ended.",
    "403": "The role or the token's scopes do not allow it.",
    "404": "There is no such thing.",
    "409": "It does not fit the state that things are in.",
    "410": "It was there and has ended.",
    "413": "The body is longer than is read.",
    "415": "The body is of a media type that is not read here.",
    "422": "The body can be read and asks for something impossible.",
    "429": "Too many requests; Retry-After says when to try again.",
    "503": "It cannot be done just now; try again.",
}
TYPES = {
    str: ["string"],
    bool: ["boolean"],
    int: ["integer", "number"],
    float: ["number"],
    list: ["array"],
    dict: ["object"],
}
METHODS = ("get", "post", "put", "patch", "delete")


class Schema(AutoSchema):
    """Describes the parameters and answers of `ListedViewSet`."""

    def get_override_parameters(self) -> list[Any]:  # Any: serializers and parameters alike, as the framework has it
        """Filters, search and sort of a list."""
        view = self.view
        if not isinstance(view, ListedViewSet) or view.action != "list":
            return list(super().get_override_parameters())
        parameters: list[Any] = [] if view.filters is NoFilter else [view.filters]
        if view.searched:
            parameters.append(OpenApiParameter("search", str, description="words that all must occur"))
        if view.sorts:
            choices = [sign + name for name in view.sorts for sign in ("", "-")]
            parameters.append(OpenApiParameter("sort", str, enum=choices, description="with -: backwards"))
        return parameters

    def map_renderers(self, attribute: str) -> list[Any]:
        """CSV is described by `describe`, as text instead of as the rows' schema."""
        return [kind for kind in super().map_renderers(attribute) if kind not in (CsvRenderer.format, "text/csv")]


def describe(result: dict[str, Any], **_: object) -> dict[str, Any]:  # Any: an OpenAPI document is JSON
    """Add to each operation the problem that it may answer with, to each list its CSV, to each field an example."""
    for schema in result["components"]["schemas"].values():
        for name, described in schema.get("properties", {}).items():
            if "enum" in described or any(
                "Enum" in one.get("$ref", "") for one in (described, *described.get("allOf", ()))
            ):
                continue  # it declares its examples itself
            for examples in (EXAMPLES, IN_OTHER_PLACES):
                if name in examples and described.get("type", "any") in ("any", *TYPES[type(examples[name])]):
                    described.setdefault("example", examples[name])
    result["components"]["schemas"]["Problem"] = PROBLEM
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    result["components"]["responses"] = {
        f"Problem{status}": {"description": meaning, "content": content} for status, meaning in ERRORS.items()
    }
    for operations in result["paths"].values():
        for method, operation in operations.items():
            if method not in METHODS:
                continue
            for status in ERRORS:
                operation["responses"].setdefault(status, {"$ref": f"#/components/responses/Problem{status}"})
            if operation["operationId"].endswith("_list"):
                operation["responses"]["200"]["content"]["text/csv"] = {"schema": {"type": "string"}}
    return result
