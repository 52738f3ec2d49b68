"""The ASGI application of both modes: the device API in front of Django."""

import gc
import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coterie.config.settings")  # noqa: TID251 - Django reads it there
site = get_asgi_application()

from django.conf import settings  # noqa: E402

from coterie.config.schema import refuse_newer  # noqa: E402
from coterie.gateway.asgi import in_front_of  # noqa: E402 - its models need Django set up

if not settings.EMBEDDED:  # where the server looks before it changes the tables
    refuse_newer()
# Collections over ten thousand sockets' objects cost more than the sockets' work; bodies never pass through Django.
gc.set_threshold(50_000, 50, 100)
application = in_front_of(site)
