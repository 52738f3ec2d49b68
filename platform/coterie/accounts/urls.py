"""How operators sign in."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, path

from coterie.accounts.views import SignIn, ask_for_passkey, give_second_factor, sign_in_by_link

urlpatterns: list[URLPattern] = [
    path("sign-in/", SignIn.as_view(), name="sign-in"),
    path("sign-in/second-factor/", give_second_factor, name="second-factor"),
    path("sign-in/passkey/", ask_for_passkey, {"half_way": False}, name="ask-to-sign-in"),
    path("sign-in/second-factor/passkey/", ask_for_passkey, {"half_way": True}, name="ask-half-way"),
    path("sign-in/<str:link>/", sign_in_by_link, name="sign-in-by-link"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
]
