"""Signing in with name and password, or with a link that works once; then, where there is one, the second factor.

A passkey is both at once, and may be the second factor.
"""

from dataclasses import replace
from datetime import timedelta

import segno
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme, urlsafe_base64_decode
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods, require_POST

from coterie.accounts import passkeys, second_factor
from coterie.accounts.browsers import BY_SECOND_FACTOR
from coterie.accounts.models import Operator, SecondFactor
from coterie.accounts.passkey_answers import PasskeyAnswer, PasskeyRefused
from coterie.accounts.passkey_challenges import LASTS, PasskeyChallengeOver
from coterie.accounts.passwords import CAME_BY_LINK, TooManyAttempts
from coterie.accounts.relying_party import has_relying_party, relying_party_of
from coterie.accounts.roles import actor_of
from coterie.accounts.selectors import SignInLinkInvalid, operator_of_sign_in
from coterie.accounts.services import spend_sign_in_link
from coterie.core.acting import NOBODY, acting_as
from coterie.core.errors import CoterieError

HALF_WAY = "half_way_in"
"""In the session of who has given a password, or pressed a link's button, and no second factor yet."""
HALF_WAY_LASTS = timedelta(minutes=10)
BACKEND = "coterie.accounts.passwords.PasswordBackend"
ANSWER = "answer"
"""Field of forms that a passkey has filled in."""
LONGEST_ANSWER = 20_000
"""Characters; a passkey's identifier, user handle and signature are at most some kB."""
ASKED = "passkey_asked"
"""Cookie of the challenge that the browser was given last: an answer to another browser's is worth nothing."""


class SignIn(LoginView):
    """The form for name and password, and the button for a passkey."""

    template_name = "accounts/sign_in.html"

    def get_context_data(self, **more: object) -> dict[str, object]:
        """The forms, and the provider that one may sign in with instead."""
        shown = {"provider": settings.SINGLE_SIGN_ON, "takes_passkeys": has_relying_party(self.request)}
        return {**super().get_context_data(**more), **shown}

    def post(self, request: HttpRequest, *args: str, **kwargs: object) -> HttpResponse:
        """Sign in and go where the operator wanted to."""
        try:
            return self._by_passkey() if ANSWER in request.POST else super().post(request, *args, **kwargs)
        except CoterieError as error:
            empty = self.get_context_data(form=AuthenticationForm(request), refusal=error)
            return self.render_to_response(empty, status=429 if isinstance(error, TooManyAttempts) else 403)

    def _by_passkey(self) -> HttpResponse:
        """Raises what `passkeys.check_passkey` raises, and PasskeysUnavailable."""
        operator = _check_passkey(self.request, None)
        login(self.request, operator, backend=BACKEND)
        self.request.session[BY_SECOND_FACTOR] = True
        return redirect(self.get_success_url())

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
@require_POST
def ask_for_passkey(request: HttpRequest, *, half_way: bool) -> HttpResponse:
    """What the script of the forms needs: a challenge to who is half-way in, or to whoever signs in by a passkey."""
    operator = _half_way_in(request) if half_way else None
    try:
        if half_way and operator is None:
            raise PasskeyChallengeOver
        options = passkeys.ask_passkey(operator=operator, party=relying_party_of(request), now=timezone.now())
    except CoterieError as error:
        return JsonResponse({"detail": str(error), "code": error.code}, status=409)
    response = JsonResponse(options)
    # A session would be a row for weeks, of whoever asks.
    response.set_signed_cookie(ASKED, str(options["challenge"]), max_age=LASTS, httponly=True, samesite="Strict")
    return response


@never_cache
@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
def give_second_factor(request: HttpRequest) -> HttpResponse:
    """Ask who is half-way in for a code or a passkey; who must have one and has none sets an app up here first."""
    operator = _half_way_in(request)
    if operator is None:
        return redirect("sign-in")
    now = timezone.now()
    code = request.POST.get("code", "")
    try:
        if second_factor.has_second_factor(operator):
            if request.method != "POST":
                return render(request, "accounts/second_factor.html", _to_choose(request, operator))
            if ANSWER in request.POST:
                _check_passkey(request, operator)
            else:
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
        has_one = second_factor.has_second_factor(operator)
        shown = _to_choose(request, operator) if has_one or begun_before is None else _to_scan(begun_before)
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
    if second_factor.has_second_factor(operator) or second_factor.must_have_one(operator):
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


def _check_passkey(request: HttpRequest, operator: Operator | None) -> Operator:
    """Nobody acts yet, from the request's address."""
    given, asked = request.POST[ANSWER], urlsafe_base64_decode(request.get_signed_cookie(ASKED, default="") or "")
    if len(given) > LONGEST_ANSWER:
        raise PasskeyRefused
    with acting_as(replace(NOBODY, address=request.META.get("REMOTE_ADDR", ""))):
        answer = PasskeyAnswer(given, relying_party_of(request), asked)
        return passkeys.check_passkey(answer=answer, operator=operator, now=timezone.now())


def _to_choose(request: HttpRequest, operator: Operator) -> dict[str, object]:
    return {
        "has_app": second_factor.second_factor_of(operator) is not None,
        "takes_passkeys": operator.passkeys.exists() and has_relying_party(request),
    }


def _to_scan(factor: SecondFactor) -> dict[str, object]:
    uri = second_factor.provisioning_uri(factor)
    picture = segno.make(uri, error="m").svg_inline(scale=4, border=3, light="white", svgclass="qr", lineclass=None)
    return {"picture": mark_safe(picture), "key": second_factor.key_of(factor)}  # noqa: S308 - lines of a QR code
