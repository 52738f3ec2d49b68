"""Django behind the request guard, which has read the body already."""

from typing import IO

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from coterie.gateway.door.body import Receive
from coterie.gateway.door.requester import metered
from coterie.gateway.door.site_body import SiteBody


class Site(ASGIHandler):
    """Django's handler for requests whose bodies have been read.

    Every view and all middleware block, so a request is answered on one thread from start to end; Django's own handler
    would return to the loop, and wait for a thread again, some twenty times in each.
    """

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: ARG002 - as Django calls it
        """Build the chain of blocking middleware and views."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Answer on the request's thread."""
        return await sync_to_async(metered, thread_sensitive=True)(lambda: self.get_response(request))

    async def read_body(self, receive: Receive) -> IO[bytes]:
        """The body's file."""
        assert isinstance(receive, SiteBody), "requests come through the door"
        return receive.file


def make_site() -> Site:
    """Django, set up."""
    django.setup(set_prefix=False)
    return Site()
