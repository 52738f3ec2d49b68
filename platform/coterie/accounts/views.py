"""Signing in with name and password, or with a link that works once; then, where there is one, the second factor."""

from datetime import timedelta

import segno
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods

from coterie.accounts import second_factor
from coterie.accounts.browsers import BY_SECOND_FACTOR
from coterie.accounts.models import Operator, SecondFactor
from coterie.accounts.passwords import CAME_BY_LINK, TooManyAttempts
from coterie.accounts.roles import actor_of
from coterie.accounts.selectors import SignInLinkInvalid, operator_of_sign_in
from coterie.accounts.services import spend_sign_in_link
from coterie.core.acting import acting_as
from coterie.core.errors import CoterieError

HALF_WAY = "half_way_in"
"""In the session of who has given a password, or pressed a link's button, and no second factor yet."""
HALF_WAY_LASTS = timedelta(minutes=10)
BACKEND = "coterie.accounts.passwords.PasswordBackend"


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

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Name and password fit."""
        operator = form.get_user()
        assert isinstance(operator, Operator)
        return _come_in(self.request, operator, to=self.get_success_url(), by_link=False)


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
    wanted = request.POST.get("next", "")
    to = wanted if url_has_allowed_host_and_scheme(wanted, allowed_hosts=None) else "/"
    return _come_in(request, operator, to=to, by_link=True)


@never_cache
@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
def give_second_factor(request: HttpRequest) -> HttpResponse:
    """Ask who is half-way in for a code; who must have a second factor and has none sets it up here first."""
    operator = _half_way_in(request)
    if operator is None:
        return redirect("sign-in")
    now = timezone.now()
    code = request.POST.get("code", "")
    try:
        if second_factor.second_factor_of(operator) is not None:
            if request.method != "POST":
                return render(request, "accounts/second_factor.html")
            second_factor.check_code(operator=operator, code=code, now=now)
            return redirect(_finish(request, operator))
        with acting_as(actor_of(operator, address=request.META.get("REMOTE_ADDR", ""))):
            if request.method != "POST":
                begun = second_factor.begin_second_factor(operator=operator, now=now)
                return render(request, "accounts/second_factor.html", _to_scan(begun))
            codes = second_factor.confirm_second_factor(operator=operator, code=code, now=now)
        return render(request, "accounts/recovery_codes.html", {"codes": codes, "next": _finish(request, operator)})
    except CoterieError as error:
        begun_before = operator.second_factors.filter(confirmed_at=None).first()
        shown = {} if begun_before is None else _to_scan(begun_before)
        return render(request, "accounts/second_factor.html", {**shown, "refusal": error}, status=403)


def _come_in(request: HttpRequest, operator: Operator, *, to: str, by_link: bool) -> HttpResponse:
    """Sign in, or ask for the second factor first."""
    half_way = {
        "operator": operator.pk,
        "proof": operator.get_session_auth_hash(),  # another password ends it
        "until": (timezone.now() + HALF_WAY_LASTS).timestamp(),
        "to": to,
        "by_link": by_link,
    }
    if second_factor.second_factor_of(operator) is not None or second_factor.must_have_one(operator):
        request.session[HALF_WAY] = half_way
        return redirect("second-factor")
    login(request, operator, backend=BACKEND)
    if by_link:
        request.session[CAME_BY_LINK] = True
    return redirect(to)


def _half_way_in(request: HttpRequest) -> Operator | None:
    half_way = request.session.get(HALF_WAY)
    if half_way is None:
        return None
    operator = Operator.objects.filter(pk=half_way["operator"], is_active=True).first()
    left_s = half_way["until"] - timezone.now().timestamp()
    if operator is None or not 0 < left_s <= HALF_WAY_LASTS.total_seconds():
        return None
    return operator if operator.get_session_auth_hash() == half_way["proof"] else None


def _finish(request: HttpRequest, operator: Operator) -> str:
    """Sign in; where the person wanted to go."""
    half_way = request.session.pop(HALF_WAY)
    login(request, operator, backend=BACKEND)
    request.session[BY_SECOND_FACTOR] = True
    if half_way["by_link"]:
        request.session[CAME_BY_LINK] = True
    return str(half_way["to"])


def _to_scan(factor: SecondFactor) -> dict[str, object]:
    uri = second_factor.provisioning_uri(factor)
    picture = segno.make(uri, error="m").svg_inline(scale=4, border=3, light="white", svgclass="qr", lineclass=None)
    return {"picture": mark_safe(picture), "key": second_factor.key_of(factor)}  # noqa: S308 - lines of a QR code
