"""Old requests for logs that brought none are deleted; the others are receipts of devices' owners."""

from datetime import datetime

from django.db.models import QuerySet

from coterie.core.pruning import OldRows
from coterie.device_logs.models import DeviceLog


def old_logs(before: datetime) -> QuerySet[DeviceLog]:
    """Requests without lines that ended before `before`."""
    return DeviceLog.objects.filter(ended_at__lt=before).exclude(state=DeviceLog.State.DELIVERED)


OLD_ROWS = (OldRows("requests for devices' logs that brought none", old_logs),)
