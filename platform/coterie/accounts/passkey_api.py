"""One's own passkeys in the REST API; signing in by one is for the platform's page (`views`)."""

from typing import cast

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.accounts import passkeys, services
from coterie.accounts.account_api import OwnPasswordSerializer
from coterie.accounts.browsers import BY_SECOND_FACTOR
from coterie.accounts.models import Operator, Passkey
from coterie.accounts.passkey_answers import PasskeyAnswer
from coterie.accounts.relying_party import relying_party_of
from coterie.core.body import check_body
from coterie.core.listing import ListedViewSet


class PasskeySerializer(serializers.ModelSerializer[Passkey]):
    """A passkey, without its key."""

    class Meta:
        model = Passkey
        fields = ["id", "name", "created_at", "last_used_at"]
        read_only_fields = ["id", "created_at", "last_used_at"]


class PasskeyOptionsSerializer(serializers.Serializer[None]):
    """What a browser is given."""

    public_key = serializers.DictField(
        help_text="for PublicKeyCredential.parse…OptionsFromJSON (W3C Web Authentication)"
    )


class MadePasskeySerializer(serializers.Serializer[None]):
    """What a browser has made."""

    name = serializers.CharField(max_length=100)
    answer = serializers.DictField(help_text="PublicKeyCredential.toJSON()")


class NewPasskeySerializer(PasskeySerializer):
    """A new passkey; the recovery codes are shown this once."""

    recovery_codes = serializers.ListField(
        child=serializers.CharField(), help_text="if it is the first second factor; else none: those there are stay"
    )

    class Meta(PasskeySerializer.Meta):
        fields = [*PasskeySerializer.Meta.fields, "recovery_codes"]


class ProofSerializer(serializers.Serializer[None]):
    """That it is oneself: the answer of one of one's passkeys or, without one, a code."""

    answer = serializers.DictField(default=None, allow_null=True, help_text="PublicKeyCredential.toJSON()")
    code = serializers.CharField(
        max_length=40, default="", allow_blank=True, help_text="of the app, or a recovery code; read without an answer"
    )


class PasskeyViewSet(ListedViewSet[Passkey]):
    """One's own passkeys."""

    serializer_class = PasskeySerializer
    queryset = Passkey.objects.all()
    sorts = {name: name for name in ("name", "created_at", "last_used_at")}

    def get_queryset(self) -> QuerySet[Passkey]:
        """One's own."""
        return super().get_queryset().filter(operator=self.request.user.pk)

    @extend_schema(
        request=OwnPasswordSerializer, responses=PasskeyOptionsSerializer, operation_id="session_passkeys_begin"
    )
    @action(detail=False, methods=["post"])
    def begin(self, request: Request) -> Response:
        """What a browser makes a passkey of, within five minutes."""
        given = OwnPasswordSerializer(data=request.data)
        check_body(given)
        operator = cast(Operator, request.user)
        services.confirm_password(operator=operator, password=given.validated_data["password"])
        party = relying_party_of(request._request)
        return Response({"public_key": passkeys.begin_passkey(operator=operator, party=party, now=timezone.now())})

    @extend_schema(request=MadePasskeySerializer, responses={201: NewPasskeySerializer})
    def create(self, request: Request) -> Response:
        """Let the passkey sign its owner in; other than an app's code it needs no password beside it."""
        given = MadePasskeySerializer(data=request.data)
        check_body(given)
        answer = PasskeyAnswer(given.validated_data["answer"], relying_party_of(request._request))
        passkey, codes = passkeys.add_passkey(
            operator=cast(Operator, request.user),
            name=given.validated_data["name"],
            answer=answer,
            now=timezone.now(),
        )
        request._request.session[BY_SECOND_FACTOR] = True
        return Response({**PasskeySerializer(passkey).data, "recovery_codes": codes}, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=PasskeyOptionsSerializer, operation_id="session_passkeys_ask")
    @action(detail=False, methods=["post"])
    def ask(self, request: Request) -> Response:
        """What a browser has one of one's passkeys sign, within five minutes, to prove that it is oneself."""
        operator, party = cast(Operator, request.user), relying_party_of(request._request)
        return Response({"public_key": passkeys.ask_passkey(operator=operator, party=party, now=timezone.now())})

    @extend_schema(request=ProofSerializer, responses={204: None})
    @action(detail=True, methods=["post"])
    def remove(self, request: Request, **_: int) -> Response:
        """Let it sign nobody in any more; not the last second factor where one's role needs one."""
        given = ProofSerializer(data=request.data)
        check_body(given)
        signed, code = given.validated_data["answer"], given.validated_data["code"]
        answer = None if signed is None else PasskeyAnswer(signed, relying_party_of(request._request))
        passkeys.remove_passkey(passkey=self.get_object(), code=code, answer=answer, now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)
