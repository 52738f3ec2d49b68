"""Forecasts in Django's admin, to look at."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.twin.models import Forecast


@admin.register(Forecast)
class ForecastAdmin(ReadOnlyAdmin):
    """Forecasts."""

    list_display = ["round", "duration_s", "happened_duration_s", "lost", "happened_lost", "made_at"]
