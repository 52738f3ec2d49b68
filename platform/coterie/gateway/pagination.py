"""Every list of the REST API comes in pages."""

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.serializers import ValidationError

from coterie.core.rows import with_keys


class _ByKey(Paginator):  # type: ignore[type-arg]  # only its stubs take an argument
    """Finds and orders the keys of a page first: whole rows, with their related rows, are read for that page only."""

    def page(self, number: int | str) -> "Page[Any]":  # Any: rows of whatever model
        """Raises InvalidPage."""
        page, rows = super().page(number), self.object_list
        shown = page.object_list
        if isinstance(rows, QuerySet) and isinstance(shown, QuerySet) and rows.query.group_by is None:
            page.object_list = with_keys(rows, list(shown.values_list("pk", flat=True)))
        return page


class Pages(PageNumberPagination):
    """``?page=2&page_size=100``."""

    django_paginator_class = _ByKey
    page_size_query_param = "page_size"
    max_page_size = 500

    def get_page_size(self, request: Request) -> int | None:
        """The requested page size. Raises ValidationError instead of capping it: fewer rows would pass for all there
        are.
        """
        given = request.query_params.get(self.page_size_query_param)
        if given is not None and not (given.isdecimal() and len(given) <= 3 and 1 <= int(given) <= self.max_page_size):
            raise ValidationError({self.page_size_query_param: [f"A number of rows, 1 to {self.max_page_size}."]})
        return super().get_page_size(request)
