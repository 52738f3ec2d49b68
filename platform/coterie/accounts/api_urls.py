"""The accounts part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

import coterie.accounts.openapi  # noqa: F401 - the schema of the REST API finds it
from coterie.accounts.operator_api import ApiTokenViewSet, OperatorViewSet, SavedFilterViewSet
from coterie.accounts.session_api import PasswordView, SessionView

router = SimpleRouter()
router.register("tokens", ApiTokenViewSet)
router.register("operators", OperatorViewSet)
router.register("saved-filters", SavedFilterViewSet)
urlpatterns = [
    path("session/", SessionView.as_view(), name="session"),
    path("session/password/", PasswordView.as_view(), name="password"),
    *router.urls,
]
