"""Signing in with a link that works once."""

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from coterie.accounts.selectors import SignInLinkInvalid, operator_of_sign_in


@never_cache
@require_safe
def sign_in_by_link(request: HttpRequest, link: str) -> HttpResponse:
    """Sign in whom `link` was made for and show the fleet."""
    try:
        operator = operator_of_sign_in(link)
    except SignInLinkInvalid as error:
        return render(request, "accounts/sign_in_link_invalid.html", {"error": error}, status=410)
    login(request, operator, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("fleet")
