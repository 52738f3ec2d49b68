"""The exporters that the settings name, of this platform and of other packages."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from coterie.exports.interface import Exporter

GROUP = "coterie.exporters"


def chosen_exporters() -> Mapping[str, Exporter]:
    """By name, those of ``COTERIE_EXPORTERS``. Raises ImproperlyConfigured where one is missing or cannot be made."""
    return {name: _exporter(name) for name in settings.EXPORTERS}


@cache
def _exporter(name: str) -> Exporter:
    known = {point.name: point for point in entry_points(group=GROUP)}
    if name not in known:
        there = ", ".join(sorted(known)) or "none"
        raise ImproperlyConfigured(
            f"COTERIE_EXPORTERS: no installed package has an exporter {name!r}; there are {there}"
        )
    try:
        make: Callable[[], Exporter] = known[name].load()
    except ImportError as error:
        raise ImproperlyConfigured(f"COTERIE_EXPORTERS: {name!r} needs coterie[{name}] ({error})") from error
    return make()
