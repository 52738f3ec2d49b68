"""Tables that Django's admin shows and does not change."""

from django.contrib import admin
from django.http import HttpRequest


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    """Rows that only services change, because more than the row must change."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whoever may sign in may view."""
        return request.user.is_active and request.user.is_authenticated

    def has_view_permission(self, request: HttpRequest, _row: object = None) -> bool:
        """Whoever may sign in may view."""
        return self.has_module_permission(request)

    def has_add_permission(self, _request: object) -> bool:
        """Rows are not added here."""
        return False

    def has_change_permission(self, _request: object, _row: object = None) -> bool:
        """Rows are not changed here."""
        return False

    def has_delete_permission(self, _request: object, _row: object = None) -> bool:
        """Rows are not deleted here."""
        return False
