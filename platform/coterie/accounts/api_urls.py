"""The accounts part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

import coterie.accounts.openapi  # noqa: F401 - the schema of the REST API finds it
from coterie.accounts.account_api import (
    BrowserSessionViewSet,
    ConfirmSecondFactorView,
    RecoveryCodesView,
    RemoveSecondFactorView,
    SecondFactorView,
)
from coterie.accounts.custom_role_api import CustomRoleViewSet
from coterie.accounts.operator_api import ApiTokenViewSet, OperatorViewSet, SavedFilterViewSet
from coterie.accounts.passkey_api import PasskeyViewSet
from coterie.accounts.project_api import ChosenProjectView, GrantViewSet, OrganisationViewSet, ProjectViewSet
from coterie.accounts.session_api import PasswordView, SessionView
from coterie.accounts.sign_on_role_api import SignOnRoleViewSet

router = SimpleRouter()
router.register("tokens", ApiTokenViewSet)
router.register("operators", OperatorViewSet)
router.register("saved-filters", SavedFilterViewSet)
router.register("browser-sessions", BrowserSessionViewSet)
router.register("session/passkeys", PasskeyViewSet)
router.register("organisations", OrganisationViewSet)
router.register("projects", ProjectViewSet)
router.register("grants", GrantViewSet)
router.register("custom-roles", CustomRoleViewSet)
router.register("sign-on-roles", SignOnRoleViewSet)
urlpatterns = [
    path("session/", SessionView.as_view(), name="session"),
    path("session/project/", ChosenProjectView.as_view(), name="session-project"),
    path("session/password/", PasswordView.as_view(), name="password"),
    path("session/second-factor/", SecondFactorView.as_view(), name="own-second-factor"),
    path("session/second-factor/confirm/", ConfirmSecondFactorView.as_view()),
    path("session/second-factor/recovery-codes/", RecoveryCodesView.as_view()),
    path("session/second-factor/remove/", RemoveSecondFactorView.as_view()),
    *router.urls,
]
