"""The REST API's errors, as the same problem+json that devices receive."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from django.core.exceptions import RequestDataTooBig
from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import Http404, HttpResponse
from rest_framework import exceptions
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView, set_rollback

from coterie.core.errors import CoterieError
from coterie.gateway.http import retry_after
from coterie.gateway.problems import CONTENT_TYPE, problem, problem_of
from coterie_wire.errors import WireError
from coterie_wire.messages import Problem

CODES: Mapping[type[exceptions.APIException], str] = {
    exceptions.ParseError: "rest.malformed",
    exceptions.AuthenticationFailed: "rest.unauthenticated",
    exceptions.NotAuthenticated: "rest.unauthenticated",
    exceptions.PermissionDenied: "rest.forbidden",
    exceptions.NotFound: "rest.not_found",
    exceptions.MethodNotAllowed: "rest.method_not_allowed",
    exceptions.NotAcceptable: "rest.not_acceptable",
    exceptions.UnsupportedMediaType: "rest.unsupported_media_type",
}


class NoSuchAddress(APIView):
    """Answers where the REST API has nothing, as everywhere in it."""

    schema = None
    permission_classes: "list[type[BasePermission]]" = []

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:  # noqa: ARG002
        """Raises Http404, always."""
        raise Http404


def problem_response(error: Exception, _context: Mapping[str, object]) -> HttpResponse:
    """What Django REST framework answers when a view raises `error`."""
    set_rollback()
    answer = _problem(error)
    response = HttpResponse(msgspec.json.encode(answer), status=answer.status, content_type=CONTENT_TYPE)
    for name, value in retry_after(answer).items():
        response[name] = value
    challenge = getattr(error, "auth_header", None)
    if challenge is not None:
        response["WWW-Authenticate"] = challenge
    return response


def _problem(error: Exception) -> Problem:
    if isinstance(error, CoterieError | WireError):
        return problem_of(error)
    if isinstance(error, exceptions.ValidationError):
        fields = dict(_flat(error.detail))
        said = [f"{name}: {text}" if name else text for name, text in fields.items()]
        detail = "; ".join([*(one.removesuffix(".") for one in said[:-1]), *said[-1:]])
        return problem("rest.invalid", HTTPStatus.BAD_REQUEST, detail, fields)
    if isinstance(error, DjangoValidationError):  # a malformed key in the address or an invalid filter
        return problem("rest.invalid", HTTPStatus.BAD_REQUEST, " ".join(error.messages))
    if isinstance(error, RequestDataTooBig):
        return problem("rest.too_large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is longer than is read.")
    if isinstance(error, Http404):
        return problem("rest.not_found", HTTPStatus.NOT_FOUND, "There is no such thing here.")
    if isinstance(error, exceptions.APIException):
        status = HTTPStatus(error.status_code)
        return problem(CODES.get(type(error), "rest.refused"), status, str(error.detail))
    return problem_of(error)


def _flat(detail: object, path: str = "") -> list[tuple[str, str]]:
    """Each message of a nested validation error under its dotted field name."""
    if isinstance(detail, Mapping):
        return [pair for name, inner in detail.items() for pair in _flat(inner, f"{path}.{name}".lstrip("."))]
    if isinstance(detail, list | tuple):
        texts = [item for item in detail if isinstance(item, str)]
        nested = [
            pair
            for number, item in enumerate(detail)
            if not isinstance(item, str)
            for pair in _flat(item, f"{path}.{number}".lstrip("."))
        ]
        return [(path, " ".join(texts)), *nested] if texts else nested
    return [(path, str(detail))]
