"""The app of devices."""

from django.apps import AppConfig


class FleetConfig(AppConfig):
    """Devices and enrolment tokens."""

    name = "coterie.fleet"
