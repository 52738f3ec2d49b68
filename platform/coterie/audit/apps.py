"""The audit log as a Django app."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Entries of the audit log."""

    name = "coterie.audit"
