"""Logs of devices as a Django app."""

from django.apps import AppConfig


class DeviceLogsConfig(AppConfig):
    """Requests for devices' logs, and the lines that came."""

    name = "coterie.device_logs"
