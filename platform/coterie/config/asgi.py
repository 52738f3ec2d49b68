"""The ASGI application of both modes: the door, with the device API and Django behind it."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coterie.config.settings")  # noqa: TID251 - Django reads it there

from coterie.gateway.site import make_site

site = make_site()

from django.conf import settings  # noqa: E402

from coterie.config.files_here import exit_unless_files_are_here  # noqa: E402 - its models need Django set up
from coterie.config.schema import exit_unless_usable  # noqa: E402
from coterie.gateway.asgi import in_front_of  # noqa: E402 - its models need Django set up
from coterie.gateway.door.proxies import Proxies  # noqa: E402
from coterie.gateway.door.request_guard import RequestGuard  # noqa: E402

PROXIES = Proxies(settings.TRUSTED_PROXIES, https_outside=settings.PUBLIC_HTTPS)

if not settings.EMBEDDED:  # where the server looks before it changes the tables
    exit_unless_usable()
    exit_unless_files_are_here()
application = in_front_of(RequestGuard(site, spool=settings.SPOOL, spool_bytes=settings.SPOOL_BYTES), PROXIES)
