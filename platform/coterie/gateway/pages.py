"""Pages for people: the state of the fleet, and whether the platform is up."""

import sys

import msgspec
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.defaults import server_error as default_server_error

from coterie.child.confine import never_confined
from coterie.core.away import AWAY, REDIS
from coterie.core.scheduler_heartbeat import NO_WORKER, is_late, no_worker
from coterie.gateway.console_page import console, is_built
from coterie.gateway.ending import ENDING
from coterie.gateway.http import retry_after
from coterie.gateway.outage import UNANSWERED
from coterie.gateway.overview import overview
from coterie.gateway.problems import CONTENT_TYPE, problem_of


@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """``200`` when the platform and its database answer and periodic work is scheduled and done; ``503`` otherwise.

    `without` names services that are away and that the platform works without; `unconfined` lists the confinements that
    this system cannot apply to jobs that run users' programs.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    late = is_late(timezone.now())  # which uses the cache, so that an answer of 200 covers Redis, too
    without = AWAY.sentences()
    if late and REDIS not in AWAY:  # where the heartbeat is stored
        return JsonResponse({"status": "periodic work is not being sent: is Celery's beat running?"}, status=503)
    if not settings.EMBEDDED and no_worker(timezone.now()) and REDIS not in AWAY:
        return JsonResponse({"status": f"periodic work is not being done: {NO_WORKER}"}, status=503)
    return JsonResponse({"status": "degraded" if without else "ok", "without": without, "unconfined": never_confined()})


@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """``200`` when this process can answer requests: it has started, and the database answers; ``503`` otherwise.

    It is not ready either from the signal that ends it on, while it closes its sockets. For load balancers that send
    requests to one process of several; `healthz` is about the platform as a whole.
    """
    if ENDING.has_begun:
        return JsonResponse({"status": "this process is being restarted"}, status=503)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer where a page fails: the database is away, or the log has the reason."""
    error = sys.exc_info()[1]
    if isinstance(error, UNANSWERED):
        problem = problem_of(error)
        response = HttpResponse(msgspec.json.encode(problem), status=problem.status, content_type=CONTENT_TYPE)
        for name, value in retry_after(problem).items():
            response[name] = value
        return response
    return default_server_error(request)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The console; where it has not been built, the plain page of the fleet."""
    return console(request) if is_built() else fleet(request)


@require_safe
@login_required
def fleet(request: HttpRequest) -> HttpResponse:
    """The fleet's devices and rounds, and what each waits for; the page updates itself with `fleet_now`."""
    return render(request, "gateway/fleet.html", {"overview": overview(now=timezone.now())})


@require_safe
def fleet_now(request: HttpRequest) -> HttpResponse:
    """The part of the page that changes; ``401`` when nobody is signed in, so that an abandoned page stops polling."""
    if not request.user.is_authenticated:
        return HttpResponse(status=401)
    return render(request, "gateway/fleet_now.html", {"overview": overview(now=timezone.now())})
