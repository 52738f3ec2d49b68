"""The OpenAPI description of the prediction service, made from its messages."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from coterie_agent import VERSION
from coterie_agent.serving.messages import PredictionAnswer, PredictionRequest
from coterie_agent.store.serving import Serving
from coterie_wire.messages import Problem

_REF = "#/components/schemas/{name}"
_REFUSED: Mapping[str, str] = {
    "400": "The body is not of this shape (`local_api.malformed`).",
    "401": "The token is missing or another (`local_api.unauthorised`).",
    "403": "The Host header names another machine, as that of a page of another site does (`local_api.foreign_host`).",
    "422": "The samples do not fit the model (`ingest.*`).",
    "503": "No model that runs, or too many samples wait (`serve.busy`); ask again after `Retry-After`.",
    "504": "No answer within the deadline, of the model or of a fallback (`serve.late`).",
}


@cache
def openapi() -> bytes:
    """OpenAPI 3.1, as JSON."""
    (ask, answer, serving, problem), schemas = msgspec.json.schema_components(
        (PredictionRequest, PredictionAnswer, Serving, Problem), ref_template=_REF
    )
    refused = {
        status: {"description": what, "content": {"application/problem+json": {"schema": problem}}}
        for status, what in _REFUSED.items()
    }
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Predictions of a Coterie agent",
                "version": VERSION,
                "description": "Served by `coterie-agent serve` on this device; serve.json has address and token.",
            },
            "servers": [{"url": "http://127.0.0.1:{port}", "variables": {"port": {"default": "8716"}}}],
            "security": [{"token": []}],
            "paths": {
                "/predict": {
                    "post": {
                        "operationId": "predict",
                        "summary": "What the model on the device says about samples.",
                        "requestBody": {"required": True, "content": {"application/json": {"schema": ask}}},
                        "responses": {"200": _of("The predictions.", answer), **refused},
                    }
                },
                "/status": {
                    "get": {
                        "operationId": "status",
                        "summary": "Which model predicts, and what has happened since the service began.",
                        "responses": {"200": _of("The figures.", serving), "401": refused["401"]},
                    }
                },
                "/openapi.json": {
                    "get": {
                        "operationId": "openapi",
                        "summary": "This description.",
                        "responses": {"200": _of("OpenAPI.", {"type": "object"}), "401": refused["401"]},
                    }
                },
            },
            "components": {
                "schemas": schemas,
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        },
        order="sorted",
    )


def _of(what: str, schema: Mapping[str, Any]) -> dict[str, object]:
    return {"description": what, "content": {"application/json": {"schema": schema}}}
