"""Lists of the REST API: pages, filters, one sort, a search, and the whole list as CSV."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

from asgiref.sync import sync_to_async
from django.db import connection
from django.db.models import Model, Q, QuerySet
from django.http import StreamingHttpResponse
from rest_framework import mixins, serializers
from rest_framework.generics import GenericAPIView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.viewsets import GenericViewSet

from coterie.core.acting import Actor, acting_as, current_actor
from coterie.core.csv_table import CsvRenderer, csv_response
from coterie.core.rows import with_keys

M = TypeVar("M", bound=Model)
QueryParameters = Mapping[str, Any]
"""Validated query parameters, by name. Any: each as its own field of the filter gives it."""
Row = Mapping[str, object]
Renderers: TypeAlias = list[BaseRenderer]
CSV_ROWS_AT_ONCE = 1000


class NoFilter(serializers.Serializer[None]):
    """A list without filters of its own."""


class ListedViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[M]):
    """Rows in a list or one by one; unknown filters and values are refused."""

    filters: ClassVar[type[serializers.Serializer[None]]] = NoFilter
    """Its fields are query parameters."""
    sorts: ClassVar[Mapping[str, str]] = {}
    """Column, or columns of which the first counts most, by name in ``?sort=NAME`` or ``?sort=-NAME``; without it rows
    come in their model's order."""
    searched: ClassVar[tuple[str, ...]] = ()
    """Columns that ``?search=`` searches for its words."""
    active_states: ClassVar[tuple[str, ...]] = ()
    """The states that the filter ``active`` selects, where there is one."""
    detail_serializer_class: "ClassVar[type[serializers.BaseSerializer[Any]] | None]" = None
    """Of a single row, where that shows more than a list does. Any: as of `serializer_class`."""

    def narrowed(self, rows: QuerySet[M], query: QueryParameters) -> QuerySet[M]:
        """The rows that the filters select; by default each parameter is a look-up, except ``active``."""
        if not self.active_states:
            return rows.filter(**query)
        rows = rows.filter(**{name: value for name, value in query.items() if name != "active"})
        if "active" not in query:
            return rows
        return (rows.filter if query["active"] else rows.exclude)(state__in=self.active_states)

    def get_serializer_class(self) -> "type[serializers.BaseSerializer[Any]]":
        """Any: as of `serializer_class`."""
        detail = self.detail_serializer_class if self.action == "retrieve" else None
        return super().get_serializer_class() if detail is None else detail

    def get_queryset(self) -> QuerySet[M]:
        """All rows; for a list, those that match the query, in its order."""
        rows = super().get_queryset()
        return self.matching(rows, self.request.query_params) if self.action == "list" else rows

    def matching(self, rows: QuerySet[M], query: Mapping[str, str]) -> QuerySet[M]:
        """Those of `rows` that match `query`, in its order. Raises ValidationError."""
        wanted = self.filters(data=query)
        orders = (*(["search"] if self.searched else ()), *(["sort"] if self.sorts else ()))
        refuse_unknown(self, query, known=(*wanted.fields, *orders))
        wanted.is_valid(raise_exception=True)
        rows = self.narrowed(rows, {name: value for name, value in wanted.validated_data.items() if value is not None})
        order = ListOrder(data=query, context={"sorts": self.sorts})
        order.is_valid(raise_exception=True)
        for word in order.validated_data["search"].split() if self.searched else ():
            rows = rows.filter(reduce(or_, (Q(**{f"{column}__icontains": word}) for column in self.searched)))
        sort = order.validated_data["sort"]
        if sort:
            sign = "-" if sort.startswith("-") else ""
            rows = rows.order_by(*(f"{sign}{column}" for column in self.sorts[sort.removeprefix("-")].split()), "pk")
        return rows

    def list(self, request: Request, *_: object, **__: object) -> Response | StreamingHttpResponse:  # type: ignore[override]
        """A page of the list, or all of it as CSV."""
        if not isinstance(request.accepted_renderer, CsvRenderer):
            return self._page(self.filter_queryset(self.get_queryset()), self.get_serializer(many=True))
        # One serializer for all rows: making one costs more than using it.
        table = cast("serializers.ListSerializer[M]", self.get_serializer(many=True))
        columns = tuple(cast(serializers.Serializer[M], table.child).fields)
        parts = _parts(self.filter_queryset(self.get_queryset()), table.to_representation, current_actor())
        return csv_response(self.basename, columns, parts)

    def get_renderers(self) -> Renderers:
        """A list is available as CSV, too."""
        renderers = super().get_renderers()
        return [*renderers, CsvRenderer()] if self.action == "list" else renderers

    def page_of(self, rows: "QuerySet[Any]", serializer: "type[serializers.BaseSerializer[Any]]") -> Response:
        """A page of rows that belong to one row. Any: rows of whatever model the serializer shows. Raises
        ValidationError.
        """
        refuse_unknown(self, self.request.query_params, known=())
        return self._page(rows, serializer(many=True))

    def _page(self, rows: "QuerySet[Any]", table: "serializers.BaseSerializer[Any]") -> Response:
        """A page of rows, as `table` shows them. Any: rows of whatever model that is."""
        assert self.paginator is not None
        shown = self.paginator.paginate_queryset(rows, self.request, view=self) or []
        response = self.paginator.get_paginated_response(table.to_representation(shown))
        del self.paginator.page  # type: ignore[attr-defined]  # view and request hold one another, and would hold it
        _let_go(shown)
        return response


def refuse_unknown(view: "GenericAPIView[Any]", query: Mapping[str, str], *, known: Sequence[str]) -> None:
    """Raises ValidationError where `query` has a parameter that is neither `known` nor one of the pages of `view`.

    Any: whatever model it shows.
    """
    assert view.paginator is not None
    of_pages = [parameter["name"] for parameter in view.paginator.get_schema_operation_parameters(view)]
    named = (*known, *of_pages, api_settings.URL_FORMAT_OVERRIDE)
    unknown = f"there is no such parameter; it is one of {', '.join(named)}"
    if problems := {name: unknown for name in query if name not in named}:
        raise serializers.ValidationError(problems)


async def _parts(
    rows: QuerySet[M], represent: Callable[[list[M]], list[Row]], actor: Actor
) -> AsyncIterator[list[Row]]:
    """All rows in batches: by their keys, so that no database connection waits while a client reads.

    They are read as `actor`: the request and its actor's context have ended when the first batch is requested.
    """
    keys = await sync_to_async(_keys)(rows, actor)
    for start in range(0, len(keys), CSV_ROWS_AT_ONCE):
        some = keys[start : start + CSV_ROWS_AT_ONCE]
        yield await sync_to_async(_part)(rows, some, represent, actor)


def _keys(rows: QuerySet[M], actor: Actor) -> list[object]:
    with acting_as(actor):
        return list(rows.values_list("pk", flat=True))


def _part(
    rows: QuerySet[M], keys: Sequence[object], represent: Callable[[list[M]], list[Row]], actor: Actor
) -> list[Row]:
    try:
        with acting_as(actor):
            found = with_keys(rows, keys)
            shown = represent(found)
        _let_go(found)
        return shown
    finally:
        if not connection.in_atomic_block:
            connection.close()


def _let_go(rows: Iterable[M]) -> None:
    """Break the reference cycle of a row and its parent: a long table's rows would all wait for garbage collection."""
    for row in rows:
        row._state.fields_cache.clear()


class ListOrder(serializers.Serializer[None]):
    """Search and sort."""

    search = serializers.CharField(default="", allow_blank=True, max_length=200)
    sort = serializers.CharField(default="", allow_blank=True)

    def validate_sort(self, sort: str) -> str:
        """Raises ValidationError where the list cannot be sorted so."""
        sorts: Mapping[str, str] = self.context["sorts"]
        if sort and sort.removeprefix("-") not in sorts:
            raise serializers.ValidationError(f"{sort!r} is none of {', '.join(sorts)}, with or without -")
        return sort
