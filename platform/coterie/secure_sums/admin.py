"""The tables of secure sums in Django's admin, read-only: only devices and deadlines change them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.secure_sums.models import SecureSum


@admin.register(SecureSum)
class SecureSumAdmin(ReadOnlyAdmin):
    """Secure sums."""

    list_display = ["federation", "number", "state", "reason_sentence", "began_at", "closes_at", "ended_at"]
    list_filter = ["state", "federation"]
