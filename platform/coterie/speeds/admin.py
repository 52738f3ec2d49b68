"""The speeds of past days in Django's admin, read-only."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.speeds.models import SpeedDay


@admin.register(SpeedDay)
class SpeedDayAdmin(ReadOnlyAdmin):
    """Days."""

    list_display = ["pair", "day", "by", "band", "work", "form", "charging", "devices"]
    list_filter = ["pair", "work", "form"]
