"""Federations in Django's admin, read-only; changes go through the API, which checks them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.federations.models import Federation, Group, Membership, Split


@admin.register(Federation)
class FederationAdmin(ReadOnlyAdmin):
    """Federations."""

    list_display = ["slug", "state", "pair", "device_tag", "rounds_wanted", "created_at"]
    list_filter = ["state"]
    search_fields = ["slug", "name"]


@admin.register(Group)
class GroupAdmin(ReadOnlyAdmin):
    """Groups."""

    list_display = ["federation", "name", "since", "until"]
    list_filter = ["federation"]


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    """Memberships."""

    list_display = ["device", "group", "since", "since_round", "until"]
    list_filter = ["federation"]


@admin.register(Split)
class SplitAdmin(ReadOnlyAdmin):
    """Splits."""

    list_display = ["federation", "round_number", "groups", "reason_sentence", "at"]
    list_filter = ["federation"]
