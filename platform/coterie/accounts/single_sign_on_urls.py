"""Addresses of the sign-in with a provider, where the settings name one."""

from django.urls import path

from coterie.accounts.openid import answer, begin

urlpatterns = [
    path("single-sign-on/", begin, name="single-sign-on"),
    path("single-sign-on/answer/", answer, name="single-sign-on-answer"),
]
