"""Django behind the front door, which has read the body already."""

from typing import IO

import django
from django.core.handlers.asgi import ASGIHandler

from coterie.gateway.door.body import Receive
from coterie.gateway.door.site_body import SiteBody


class Site(ASGIHandler):
    """Django's handler for requests whose bodies have been read."""

    async def read_body(self, receive: Receive) -> IO[bytes]:
        """The body's file."""
        assert isinstance(receive, SiteBody), "requests come through the door"
        return receive.file


def make_site() -> Site:
    """Django, set up."""
    django.setup(set_prefix=False)
    return Site()
