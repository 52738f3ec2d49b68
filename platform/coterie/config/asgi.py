"""The ASGI application of both modes: the device API in front of Django."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coterie.config.settings")  # noqa: TID251 - Django reads it there
site = get_asgi_application()

from django.conf import settings  # noqa: E402

from coterie.config.schema import refuse_newer  # noqa: E402
from coterie.gateway.asgi import in_front_of  # noqa: E402 - its models need Django set up

if not settings.EMBEDDED:  # where the server looks before it changes the tables
    refuse_newer()
application = in_front_of(site)
