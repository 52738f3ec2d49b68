"""The accounts' tables in Django's admin, to look at; changes go through services, which record them."""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin  # noqa: F401 - registers groups, which are taken out below
from django.contrib.auth.models import Group

from coterie.accounts.models import ApiToken, BrowserSession, Operator, Passkey, RecoveryCode, SavedFilter, SecondFactor
from coterie.core.admin import ReadOnlyAdmin

admin.site.unregister(Group)  # roles are ours


@admin.register(Operator)
class OperatorAdmin(ReadOnlyAdmin):
    """People, without their passwords' hashes."""

    fields = ["username", "email", "role", "is_active", "date_joined", "last_login"]
    list_display = ["username", "role", "is_active", "last_login"]
    list_filter = ["role", "is_active"]
    search_fields = ["username", "email"]


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """API tokens, without their secrets."""

    list_display = ["name", "operator", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at"]
    search_fields = ["name", "operator__username"]


@admin.register(SavedFilter)
class SavedFilterAdmin(ReadOnlyAdmin):
    """Saved filters."""

    list_display = ["name", "table", "operator"]


@admin.register(SecondFactor)
class SecondFactorAdmin(ReadOnlyAdmin):
    """Second factors, without their secrets."""

    list_display = ["operator", "created_at", "confirmed_at"]


@admin.register(RecoveryCode)
class RecoveryCodeAdmin(ReadOnlyAdmin):
    """Recovery codes, without their hashes."""

    list_display = ["operator", "used_at"]


@admin.register(Passkey)
class PasskeyAdmin(ReadOnlyAdmin):
    """Passkeys, without their keys."""

    list_display = ["name", "operator", "created_at", "last_used_at"]


@admin.register(BrowserSession)
class BrowserSessionAdmin(ReadOnlyAdmin):
    """Where people are signed in."""

    list_display = ["operator", "address", "browser", "began_at", "seen_at"]
