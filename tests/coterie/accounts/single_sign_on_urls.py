"""The platform's addresses where the settings name a provider."""

from django.urls import include, path

from coterie.config import urls

urlpatterns = [path("", include("coterie.accounts.single_sign_on_urls")), *urls.urlpatterns]
