"""Starts a process's monitoring endpoint, where the settings give it a port."""

from collections.abc import Callable

from django.conf import settings

from coterie.config.monitoring.endpoint import watched
from coterie.config.monitoring.figures import show_figures
from coterie.config.monitoring.liveness import LIFE, Sign


def begin_monitoring(by: Sign, *, leads: Callable[[], bool]) -> None:
    """Serve metrics and liveness; also the figures of the platform as a whole while `leads` is true.

    Does nothing without ``COTERIE_METRICS_PORT``. Raises OSError where another process has the port.
    """
    if settings.METRICS_PORT:
        LIFE.watch(by)
        show_figures(leads)
        watched(LIFE, host=settings.METRICS_HOST, port=settings.METRICS_PORT)
