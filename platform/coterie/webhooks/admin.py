"""Webhooks in Django's admin, to look at, without their secrets."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.webhooks.models import Delivery, Webhook


@admin.register(Webhook)
class WebhookAdmin(ReadOnlyAdmin):
    """Webhooks."""

    list_display = ["name", "url", "events", "is_active"]


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    """Deliveries."""

    list_display = ["webhook", "event", "state", "attempts", "status", "problem", "created_at"]
    list_filter = ["state", "event"]
