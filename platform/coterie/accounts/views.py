"""Signing in with name and password, or with a link that works once."""

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from coterie.accounts.passwords import CAME_BY_LINK, TooManyAttempts
from coterie.accounts.selectors import SignInLinkInvalid, operator_of_sign_in
from coterie.accounts.services import spend_sign_in_link


class SignIn(LoginView):
    """The form for name and password."""

    template_name = "accounts/sign_in.html"

    def get_context_data(self, **more: object) -> dict[str, object]:
        """The form, and the provider that one may sign in with instead."""
        return {**super().get_context_data(**more), "provider": settings.SINGLE_SIGN_ON}

    def post(self, request: HttpRequest, *args: str, **kwargs: object) -> HttpResponse:
        """Sign in and go where the operator wanted to."""
        try:
            return super().post(request, *args, **kwargs)
        except TooManyAttempts as error:
            empty = self.get_context_data(form=AuthenticationForm(request), refusal=error)
            return self.render_to_response(empty, status=429)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_by_link(request: HttpRequest, link: str) -> HttpResponse:
    """A page with a button, which signs in whom `link` was made for and shows ``next``, an address here, or the fleet.

    Only the button spends the link: programs that look where links in mail and chats lead do not press it.
    """
    try:
        if request.method != "POST":
            operator = operator_of_sign_in(link)
            shown = {"operator": operator, "next": request.GET.get("next", "")}
            return render(request, "accounts/sign_in_by_link.html", shown)
        operator = spend_sign_in_link(link)
    except SignInLinkInvalid as error:
        return render(request, "accounts/sign_in_link_invalid.html", {"error": error}, status=410)
    login(request, operator)
    request.session[CAME_BY_LINK] = True
    wanted = request.POST.get("next", "")
    return redirect(wanted if url_has_allowed_host_and_scheme(wanted, allowed_hosts=None) else "home")
