"""Requests for logs that brought none may go; those that did are receipts of devices' owners."""

from datetime import datetime

from django.db.models import QuerySet

from coterie.core.pruning import OldRows
from coterie.device_logs.models import DeviceLog


def old_logs(before: datetime) -> QuerySet[DeviceLog]:
    """Those that ended by then."""
    return DeviceLog.objects.filter(ended_at__lt=before).exclude(state=DeviceLog.State.DELIVERED)


OLD_ROWS = (OldRows("requests for devices' logs that brought none", old_logs),)
