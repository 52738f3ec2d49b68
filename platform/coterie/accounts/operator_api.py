"""API tokens in the operators' REST API."""

from typing import cast

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.authentication import BasicAuthentication, SessionAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from coterie.accounts import services
from coterie.accounts.authentication import ApiTokenAuthentication
from coterie.accounts.models import ApiToken, Operator


class ApiTokenSerializer(serializers.ModelSerializer[ApiToken]):
    """A token without its secret."""

    class Meta:
        model = ApiToken
        fields = ["id", "name", "created_at", "expires_at", "last_used_at", "revoked_at"]
        read_only_fields = ["id", "created_at", "last_used_at", "revoked_at"]


class IssuedApiTokenSerializer(ApiTokenSerializer):
    """A new token; `secret` is shown this once."""

    secret = serializers.CharField(read_only=True)

    class Meta(ApiTokenSerializer.Meta):
        fields = [*ApiTokenSerializer.Meta.fields, "secret"]


class ApiTokenViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[ApiToken]):
    """The signed-in operator's own tokens; the first is had with name and password (HTTP basic authentication)."""

    authentication_classes = [ApiTokenAuthentication, BasicAuthentication, SessionAuthentication]
    serializer_class = ApiTokenSerializer
    queryset = ApiToken.objects.all()

    def get_queryset(self) -> QuerySet[ApiToken]:
        """One's own."""
        return ApiToken.objects.filter(operator=self.request.user.pk)

    @extend_schema(request=ApiTokenSerializer, responses={201: IssuedApiTokenSerializer})
    def create(self, request: Request) -> Response:
        """A new token. Its secret is in this answer and nowhere else."""
        wanted = ApiTokenSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        operator = cast(Operator, request.user)
        token, secret = services.issue_token(operator=operator, **wanted.validated_data, now=timezone.now())
        return Response({**ApiTokenSerializer(token).data, "secret": secret}, status=status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, **_: int) -> Response:
        """End the token at once."""
        token = self.get_object()
        services.revoke_token(token=token, now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)
