"""Webhooks in the operators' REST API."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet
from coterie.webhooks import services
from coterie.webhooks.models import Delivery, Event, Webhook

CHOOSABLE = [(event.value, event.label) for event in Event if event is not Event.TEST]


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    """A webhook without its secret."""

    name = serializers.CharField(max_length=100)
    url = serializers.URLField(max_length=500)
    events = serializers.ListField(child=ChoiceField(CHOOSABLE), min_length=1, max_length=len(CHOOSABLE))

    class Meta:
        model = Webhook
        fields = ["id", "name", "url", "events", "is_active", "created_at"]
        read_only_fields = ["id", "is_active", "created_at"]


class NewWebhookSerializer(WebhookSerializer):
    """A new webhook; `secret`, which signs its deliveries, is shown this once."""

    secret = serializers.CharField(read_only=True)

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]


class ChangedWebhookSerializer(serializers.Serializer[Webhook]):
    """What to change."""

    url = serializers.URLField(max_length=500, required=False)
    events = serializers.ListField(
        child=ChoiceField(CHOOSABLE), min_length=1, max_length=len(CHOOSABLE), required=False
    )
    is_active = serializers.BooleanField(required=False)


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """One event for one webhook, and its outcome."""

    webhook_name = serializers.CharField(source="webhook.name", read_only=True)
    body = serializers.DictField(read_only=True)

    class Meta:
        model = Delivery
        fields = [
            "id",
            "webhook",
            "webhook_name",
            "event",
            "body",
            "state",
            "attempts",
            "next_at",
            "status",
            "problem",
            "created_at",
            "ended_at",
        ]
        read_only_fields = fields


class WebhookViewSet(ListedViewSet[Webhook]):
    """URLs to which events are delivered, signed as Standard Webhooks describes."""

    queryset = Webhook.objects.all()
    serializer_class = WebhookSerializer
    sorts = {name: name for name in ("name", "created_at")}
    searched = ("name", "url")

    @extend_schema(request=WebhookSerializer, responses={201: NewWebhookSerializer})
    def create(self, request: Request) -> Response:
        """A new webhook. Its secret is in this answer and nowhere else."""
        wanted = WebhookSerializer(data=request.data)
        check_body(wanted)
        webhook, secret = services.create_webhook(**wanted.validated_data, now=timezone.now())
        return Response({**WebhookSerializer(webhook).data, "secret": secret}, status=status.HTTP_201_CREATED)

    @extend_schema(request=ChangedWebhookSerializer, responses=WebhookSerializer)
    def partial_update(self, request: Request, **_: int) -> Response:
        """Deliver to another URL, deliver other events, or pause."""
        webhook = self.get_object()
        change = ChangedWebhookSerializer(data=request.data)
        check_body(change)
        services.change_webhook(webhook=webhook, **change.validated_data)
        return Response(WebhookSerializer(webhook).data)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, **_: int) -> Response:
        """Remove it and its log."""
        services.remove_webhook(webhook=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={201: DeliverySerializer})
    @action(detail=True, methods=["post"])
    def test(self, _request: Request, **_: int) -> Response:
        """Deliver a test event."""
        delivery = services.try_webhook(webhook=self.get_object(), now=timezone.now())
        return Response(DeliverySerializer(delivery).data, status=status.HTTP_201_CREATED)


class DeliveryFilter(serializers.Serializer[None]):
    """Which deliveries to list."""

    webhook = serializers.IntegerField(min_value=0, max_value=2**63 - 1, required=False)
    event = ChoiceField(Event.choices, required=False)
    state = ChoiceField(Delivery.State.choices, required=False)


class DeliveryViewSet(ListedViewSet[Delivery]):
    """The log of deliveries, of the last thirty days."""

    queryset = Delivery.objects.select_related("webhook")
    serializer_class = DeliverySerializer
    filters = DeliveryFilter
    sorts = {"created_at": "created_at"}

    @extend_schema(request=None, responses=DeliverySerializer)
    @action(detail=True, methods=["post"])
    def retry(self, _request: Request, **_: str) -> Response:
        """Try once more what has ended."""
        delivery = self.get_object()
        services.retry_delivery(delivery=delivery, now=timezone.now())
        return Response(DeliverySerializer(delivery).data)
