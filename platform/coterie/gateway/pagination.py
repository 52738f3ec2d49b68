"""Every list of the REST API comes in pages."""

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from rest_framework.pagination import PageNumberPagination

from coterie.core.rows import with_keys


class _ByKey(Paginator):  # type: ignore[type-arg]  # only its stubs take an argument
    """Finds and orders the keys of a page first: whole rows, with those that they belong to, are read for it alone."""

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
