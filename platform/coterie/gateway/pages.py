"""Pages for people: the state of the fleet, and whether the platform is up."""

from django.contrib.auth.decorators import login_required
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from coterie.core.pulse import is_late
from coterie.gateway.console_page import console, is_built
from coterie.gateway.overview import overview


@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """``200`` when the platform answers, its database does, and periodic work is being sent; ``503`` when it is not."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    if is_late(timezone.now()):
        return JsonResponse({"status": "periodic work is not being sent: is Celery's beat running?"}, status=503)
    return JsonResponse({"status": "ok"})


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The console; where it has not been built, the plain page of the fleet."""
    return console(request) if is_built() else fleet(request)


@require_safe
@login_required
def fleet(request: HttpRequest) -> HttpResponse:
    """The fleet and what it waits for; the page keeps itself up to date with `fleet_now`."""
    return render(request, "gateway/fleet.html", {"overview": overview(now=timezone.now())})


@require_safe
def fleet_now(request: HttpRequest) -> HttpResponse:
    """The part of the page that changes; ``401`` when nobody is signed in, so that a left page stops asking."""
    if not request.user.is_authenticated:
        return HttpResponse(status=401)
    return render(request, "gateway/fleet_now.html", {"overview": overview(now=timezone.now())})
