"""The tables of questions in Django's admin, to look at; changes go through services, which record them."""

from django.contrib import admin

from coterie.analytics.models import Part, Question
from coterie.core.admin import ReadOnlyAdmin


@admin.register(Question)
class QuestionAdmin(ReadOnlyAdmin):
    """Questions."""

    list_display = ["title", "federation", "state", "reason_sentence", "epsilon", "devices", "asked_at", "ended_at"]
    list_filter = ["state", "federation"]


@admin.register(Part)
class PartAdmin(ReadOnlyAdmin):
    """Which devices were asked."""

    list_display = ["question", "device", "asked_at", "declined_code", "declined_sentence"]
