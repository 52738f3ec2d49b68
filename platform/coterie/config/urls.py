"""Every address that Django answers; devices use the gateway beside it (asgi.py)."""

from django.conf import settings
from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path, re_path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from coterie.gateway.console_page import SECTIONS, console
from coterie.gateway.phone_page import FILES as PHONE_FILES
from coterie.gateway.phone_page import phone
from coterie.gateway.rest_errors import NoSuchAddress

handler500 = "coterie.gateway.pages.server_error"
urlpatterns = [
    path("", include("coterie.gateway.urls")),
    *([path("", include("coterie.accounts.single_sign_on_urls"))] if settings.SINGLE_SIGN_ON else []),
    path("", include("coterie.accounts.urls")),
    # One form to sign in with: the admin has its own, which would not tell who guesses to wait.
    path("admin/login/", RedirectView.as_view(pattern_name="sign-in", query_string=True)),
    # The admin's own way to another password would leave no entry in the audit log.
    path("admin/password_change/", RedirectView.as_view(pattern_name="fleet")),
    path("admin/", admin.site.urls),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "api/docs/",
        SpectacularSwaggerView.as_view(url_name="schema", template_name="gateway/api_docs.html"),
        name="docs",
    ),
    path("api/", include("coterie.accounts.api_urls")),
    path("api/", include("coterie.audit.urls")),
    path("api/", include("coterie.repairs.urls")),
    path("api/", include("coterie.alerts.urls")),
    path("api/", include("coterie.webhooks.urls")),
    path("api/", include("coterie.gateway.api_urls")),
    path("api/", include("coterie.fleet.urls")),
    path("api/", include("coterie.registry.urls")),
    path("api/", include("coterie.federations.urls")),
    path("api/", include("coterie.transfer.urls")),
    path("api/", include("coterie.rollouts.urls")),
    path("api/", include("coterie.agent_rollouts.urls")),
    path("api/", include("coterie.analytics.urls")),
    path("api/", include("coterie.fleet_evaluation.urls")),
    path("api/", include("coterie.device_logs.urls")),
    path("api/", include("coterie.alliances.urls")),
    path("api/", include("coterie.speeds.urls")),
    path("api/", include("coterie.privacy.urls")),
    path("api/", include("coterie.secure_sums.urls")),
    path("api/", include("coterie.rounds.urls")),
    path("api/", include("coterie.owners.urls")),
    path("api/", include("coterie.cloud_training.urls")),
    path("api/", include("coterie.cluster.urls")),
    path("api/", include("coterie.twin.urls")),
    path("api/", include("coterie.simulation_runs.urls")),
    path("api/<path:address>", NoSuchAddress.as_view()),
    path("phone/", phone, name="phone"),
    *(path(f"phone/{name}", phone, {"name": name}) for name in PHONE_FILES if name),
    # Browsers ask for it whatever a page says.
    path("favicon.ico", RedirectView.as_view(url=static("gateway/icon.svg"))),
    # Within its sections the console says itself where it has nothing to show.
    re_path(rf"^(?:{'|'.join(SECTIONS)})(?:/|$)", console, name="console"),
]
