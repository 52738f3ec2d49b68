"""How operators sign in."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, path

urlpatterns: list[URLPattern] = [
    path("sign-in/", LoginView.as_view(template_name="accounts/sign_in.html"), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
]
