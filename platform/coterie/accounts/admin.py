"""The accounts' tables in Django's admin."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from coterie.accounts.models import ApiToken, Operator

admin.site.register(Operator, UserAdmin)


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    """API tokens; they are made through the API or the command line, which show the secret once."""

    list_display = ["name", "operator", "created_at", "expires_at", "last_used_at", "revoked_at"]
    search_fields = ["name", "operator__username"]
    readonly_fields = ["operator", "created_at", "last_used_at"]

    def has_add_permission(self, _request: object) -> bool:
        """A token made here would have no secret."""
        return False
