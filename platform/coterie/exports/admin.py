"""What was exported, in Django's admin, to look at."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.exports.models import Exported


@admin.register(Exported)
class ExportedAdmin(ReadOnlyAdmin):
    """Rounds that exporters keep."""

    list_display = ["exporter", "round", "state", "at"]
