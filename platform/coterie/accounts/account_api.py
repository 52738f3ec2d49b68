"""One's own account in the REST API: the authenticator app, recovery codes, and where one is signed in."""

from typing import cast

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.accounts import browsers, second_factor, services
from coterie.accounts.browsers import BY_SECOND_FACTOR, IN_SESSION
from coterie.accounts.models import BrowserSession, Operator
from coterie.core.body import check_body
from coterie.core.listing import ListedViewSet


class SecondFactorSerializer(serializers.Serializer[None]):
    """How one's second factor stands."""

    is_on = serializers.BooleanField(help_text="whether a code of an app is asked for at sign-in")
    passkeys = serializers.IntegerField(help_text="registered; with one, a password alone signs in no more")
    is_required = serializers.BooleanField(help_text="whether one's role needs it")
    recovery_codes_left = serializers.IntegerField()


class BegunSecondFactorSerializer(serializers.Serializer[None]):
    """What an authenticator app is given; shown this once."""

    uri = serializers.CharField(help_text="for a QR code")
    key = serializers.CharField(help_text="to be typed")


class OwnPasswordSerializer(serializers.Serializer[None]):
    """One's password once more; blank for who has none."""

    password = serializers.CharField(max_length=1000, trim_whitespace=False, default="", allow_blank=True)


class CodeSerializer(serializers.Serializer[None]):
    """A code of the app; where one is set up, also a recovery code."""

    code = serializers.CharField(max_length=40)


class RecoveryCodesSerializer(serializers.Serializer[None]):
    """Recovery codes, shown this once."""

    recovery_codes = serializers.ListField(child=serializers.CharField())


class SecondFactorView(APIView):
    """One's own second factor."""

    @extend_schema(responses=SecondFactorSerializer)
    def get(self, request: Request) -> Response:
        """How it stands."""
        operator = cast(Operator, request.user)
        return Response(
            {
                "is_on": second_factor.second_factor_of(operator) is not None,
                "passkeys": operator.passkeys.count(),
                "is_required": second_factor.must_have_one(operator),
                "recovery_codes_left": operator.recovery_codes.filter(used_at=None).count(),
            }
        )

    @extend_schema(request=OwnPasswordSerializer, responses={201: BegunSecondFactorSerializer})
    def post(self, request: Request) -> Response:
        """Begin to set one up, or another; a code then confirms it. Raises WrongPassword."""
        given = OwnPasswordSerializer(data=request.data)
        check_body(given)
        operator = cast(Operator, request.user)
        services.confirm_password(operator=operator, password=given.validated_data["password"])
        factor = second_factor.begin_second_factor(operator=operator, now=timezone.now())
        uri, key = second_factor.provisioning_uri(factor), second_factor.key_of(factor)
        return Response({"uri": uri, "key": key}, status=status.HTTP_201_CREATED)


class ConfirmSecondFactorView(APIView):
    """The last step of setting it up."""

    @extend_schema(request=CodeSerializer, responses=RecoveryCodesSerializer)
    def post(self, request: Request) -> Response:
        """Ask for codes from now on; the recovery codes are in this answer and nowhere else."""
        operator, code = _given(request)
        codes = second_factor.confirm_second_factor(operator=operator, code=code, now=timezone.now())
        if request.auth is None:
            request._request.session[BY_SECOND_FACTOR] = True
        return Response({"recovery_codes": codes})


class RecoveryCodesView(APIView):
    """One's recovery codes."""

    @extend_schema(request=CodeSerializer, responses=RecoveryCodesSerializer)
    def post(self, request: Request) -> Response:
        """Others in their place."""
        operator, code = _given(request)
        codes = second_factor.renew_recovery_codes(operator=operator, code=code, now=timezone.now())
        return Response({"recovery_codes": codes})


class RemoveSecondFactorView(APIView):
    """Sign-in without codes of an app."""

    @extend_schema(request=CodeSerializer, responses={204: None})
    def post(self, request: Request) -> Response:
        """Take the app away; not where one's role needs a second factor and there is no passkey."""
        operator, code = _given(request)
        second_factor.remove_second_factor(operator=operator, code=code, now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)


class BrowserSessionSerializer(serializers.ModelSerializer[BrowserSession]):
    """Where one is signed in."""

    is_this = serializers.SerializerMethodField(help_text="whether the request came from it")

    class Meta:
        model = BrowserSession
        fields = ["id", "address", "browser", "began_at", "seen_at", "is_this"]
        read_only_fields = fields

    def get_is_this(self, session: BrowserSession) -> bool:
        """By the session of the request."""
        request = self.context["request"]
        return request.auth is None and request._request.session.get(IN_SESSION) == session.pk


class BrowserSessionViewSet(ListedViewSet[BrowserSession]):
    """Browsers in which one is signed in oneself, latest first."""

    serializer_class = BrowserSessionSerializer
    queryset = BrowserSession.objects.all()
    sorts = {name: name for name in ("began_at", "seen_at")}

    def get_queryset(self) -> QuerySet[BrowserSession]:
        """One's own."""
        return super().get_queryset().filter(operator=self.request.user.pk)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, **_: int) -> Response:
        """End it wherever it is."""
        browsers.end_browser_session(session=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


def _given(request: Request) -> tuple[Operator, str]:
    given = CodeSerializer(data=request.data)
    check_body(given)
    return cast(Operator, request.user), str(given.validated_data["code"])
