"""The fleet in the operators' REST API."""

from uuid import UUID

import msgspec
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.core.archiving_api import ArchivedFilter, NotesField
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.key_field import KeyField
from coterie.core.listing import ListedViewSet, QueryParameters
from coterie.fleet import certificates, credentials, services
from coterie.fleet.models import CredentialRenewal, Device, DeviceLatency, EnrolmentToken, Observation
from coterie.fleet.presence import is_present
from coterie.fleet.selectors import is_ready, why_not_ready, with_tag
from coterie.fleet.status import DeviceStatus, status_of, with_status
from coterie_wire.conditions import Reason

STATUSES = [(status.value, status.value) for status in DeviceStatus]


class ReasonSerializer(serializers.Serializer[Reason]):
    """Why something waits."""

    code = serializers.CharField()
    sentence = serializers.CharField()


class DeviceSerializer(serializers.ModelSerializer[Device]):
    """A device, with what it last reported."""

    status = serializers.SerializerMethodField(help_text="how it stands, in one word")
    present = serializers.SerializerMethodField()
    last_seen_at = serializers.DateTimeField(source="seen_at", read_only=True, allow_null=True)
    ready = serializers.SerializerMethodField()
    reasons = serializers.SerializerMethodField(help_text="why it would not train now; empty: it is ready")
    tags = serializers.ListField(child=serializers.CharField())
    notes = NotesField()

    class Meta:
        model = Device
        fields = [
            "id",
            "name",
            "tags",
            "notes",
            "archived_at",
            "state",
            "status",
            "present",
            "ready",
            "reasons",
            "enrolled_at",
            "ended_at",
            "last_seen_at",
            "check_in_s",
            "capabilities",
            "conditions",
            "metadata",
            "held_version",
            "pinned_version",
            "paused_at",
            "quarantine",
            "train_step_s",
            "credential_since",
            "certificate_until",
            "renewal",
        ]
        read_only_fields = [name for name in fields if name not in ("name", "tags", "notes")]

    @extend_schema_field(ChoiceField(STATUSES))
    def get_status(self, device: Device) -> str:
        """Its status, in one word."""
        return status_of(device, now=timezone.now())

    def get_present(self, device: Device) -> bool:
        """Whether it checks in as it should."""
        return device.is_present(timezone.now())

    def get_ready(self, device: Device) -> bool:
        """Whether it would train now."""
        return not why_not_ready(device, now=timezone.now())

    @extend_schema_field(ReasonSerializer(many=True))
    def get_reasons(self, device: Device) -> list[dict[str, str]]:
        """Why it would not train now."""
        return [msgspec.to_builtins(reason) for reason in why_not_ready(device, now=timezone.now())]


class ObservationSerializer(serializers.ModelSerializer[Observation]):
    """What a device reported when something had changed."""

    blockers = ReasonSerializer(many=True)

    class Meta:
        model = Observation
        fields = ["id", "at", "conditions", "blockers", "held_version"]
        read_only_fields = fields


class DeviceLatencySerializer(serializers.ModelSerializer[DeviceLatency]):
    """How long one kind of work takes on a device, in one of its conditions."""

    work = ChoiceField(["step", "predict"], read_only=True)
    charging = ChoiceField(["yes", "no", "unknown"], read_only=True, help_text="while it was measured")

    class Meta:
        model = DeviceLatency
        fields = ["work", "form", "charging", "version", "hottest_c", "p50_s", "p90_s", "p99_s", "at"]
        read_only_fields = fields


class DeviceFilter(ArchivedFilter):
    """Which devices to list."""

    state = ChoiceField(Device.State.choices, required=False)
    status = ChoiceField(STATUSES, required=False)
    reason = serializers.CharField(
        required=False, max_length=64, help_text="code of what stands first against training"
    )
    tag = serializers.CharField(required=False, max_length=50, help_text="a federation's devices carry its device_tag")
    version = serializers.CharField(required=False, max_length=64, help_text="id of the model version that it holds")
    agent = serializers.CharField(required=False, max_length=40, help_text="release of the agent that it runs")
    refuses_updates = serializers.CharField(
        required=False, max_length=64, help_text="code of why its agent takes no other release"
    )
    enrolled_with = KeyField(required=False, help_text="id of an enrolment token")
    renewal = KeyField(required=False, help_text="id of an order that it has not followed yet")
    renews = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="its agent can renew its credential"
    )
    certified = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="it has been given a certificate for its connections"
    )
    present = serializers.BooleanField(required=False, allow_null=True, default=None)
    ready = serializers.BooleanField(required=False, allow_null=True, default=None)


class RenewSerializer(serializers.Serializer[None]):
    """How to renew a credential."""

    leaked = serializers.BooleanField(
        default=False, help_text="the former one is refused once the next is used, not a day later"
    )


class DeviceRows(ListedViewSet[Device]):
    """Which devices are listed, and in what order."""

    queryset = Device.objects.select_related("presence")
    filters = DeviceFilter
    sorts = {name: name for name in ("name", "enrolled_at", "train_step_s")} | {"last_seen_at": "tracked last_seen_at"}
    searched = ("name", "id")

    def narrowed(self, rows: QuerySet[Device], query: QueryParameters) -> QuerySet[Device]:
        """By stored fields of a device, and by its present status."""
        now = timezone.now()
        columns = {
            "reason": "blocked_by",
            "version": "held_version",
            "agent": "agent__version",
            "refuses_updates": "agent__refuses_updates",
        }
        stored = ("state", "reason", "version", "agent", "refuses_updates", "enrolled_with", "renewal")
        rows = rows.filter(**{columns.get(name, name): query[name] for name in stored if name in query})
        rows = with_tag(rows, query.get("tag", ""))
        if query.get("status") in (None, DeviceStatus.REVOKED, DeviceStatus.LEFT):  # no other device is archived
            rows = rows.filter(archived_at__isnull=not query["archived"])
        if "status" in query:
            rows = with_status(rows, DeviceStatus(query["status"]), now=now)
        rules = {
            "present": is_present(now),
            "ready": is_ready(now),
            "renews": credentials.renewable(),
            "certified": certificates.has_certificate(),
        }
        for name, rule in rules.items():
            if name in query:
                rows = rows.filter(rule if query[name] else ~rule)
        return rows


class DeviceViewSet(DeviceRows):
    """Devices of the fleet."""

    serializer_class = DeviceSerializer

    @extend_schema(request=DeviceSerializer, responses=DeviceSerializer)
    def partial_update(self, request: Request, **_: UUID) -> Response:
        """Rename the device, tag it anew, or write other notes about it."""
        device = self.get_object()
        change = DeviceSerializer(device, data=request.data, partial=True)
        check_body(change)
        given = change.validated_data
        services.change_device(device=device, name=given.get("name"), tags=given.get("tags"), notes=given.get("notes"))
        return Response(DeviceSerializer(device).data)

    @extend_schema(request=None, responses=DeviceSerializer)
    @action(detail=True, methods=["post"])
    def revoke(self, _request: Request, **_: UUID) -> Response:
        """End the device's credential at once; it must join again to come back."""
        device = self.get_object()
        services.revoke_device(device=device, now=timezone.now())
        return Response(DeviceSerializer(device).data)

    @extend_schema(request=RenewSerializer, responses=DeviceSerializer)
    @action(detail=True, methods=["post"], url_path="renew-credential")
    def renew_credential(self, request: Request, **_: UUID) -> Response:
        """Have the device take another credential, at once or when it checks in next; it need not join again."""
        device = self.get_object()
        wanted = RenewSerializer(data=request.data)
        check_body(wanted)
        credentials.renew_credential(device=device, **wanted.validated_data, now=timezone.now())
        return Response(DeviceSerializer(device).data)

    @extend_schema(request=None, responses=DeviceSerializer)
    @action(detail=True, methods=["post"])
    def archive(self, _request: Request, **_: UUID) -> Response:
        """Leave a device that was revoked or has left out of lists."""
        device = self.get_object()
        services.archive_device(device=device, now=timezone.now())
        return Response(DeviceSerializer(device).data)

    @extend_schema(request=None, responses=DeviceSerializer)
    @action(detail=True, methods=["post"])
    def restore(self, _request: Request, **_: UUID) -> Response:
        """Have lists show an archived device again."""
        device = self.get_object()
        services.restore_device(device=device)
        return Response(DeviceSerializer(device).data)

    @extend_schema(responses=ObservationSerializer(many=True), operation_id="devices_timeline")
    @action(detail=True)
    def timeline(self, _request: Request, **_: UUID) -> Response:
        """What the device reported whenever something changed, newest first, a page at a time; the last two weeks."""
        return self.page_of(self.get_object().observations.all(), ObservationSerializer)

    @extend_schema(responses=DeviceLatencySerializer(many=True), filters=False)
    @action(detail=True, pagination_class=None)
    def latencies(self, _request: Request, **_: UUID) -> Response:
        """How long train steps and predictions take on it, by form and condition, as it told last."""
        return Response(DeviceLatencySerializer(self.get_object().latencies.all(), many=True).data)


class EnrolmentTokenSerializer(serializers.ModelSerializer[EnrolmentToken]):
    """An enrolment token without its secret."""

    tags = serializers.ListField(child=serializers.CharField(), required=False, default=list)
    uses_allowed = serializers.IntegerField(min_value=1, max_value=100_000, default=1)

    class Meta:
        model = EnrolmentToken
        fields = ["id", "label", "tags", "uses_allowed", "uses", "created_at", "expires_at", "revoked_at"]
        read_only_fields = ["id", "uses", "created_at", "revoked_at"]


class IssuedEnrolmentTokenSerializer(EnrolmentTokenSerializer):
    """A new enrolment token; `secret` is shown this once."""

    secret = serializers.CharField(read_only=True)

    class Meta(EnrolmentTokenSerializer.Meta):
        fields = [*EnrolmentTokenSerializer.Meta.fields, "secret"]


class EnrolmentTokenFilter(serializers.Serializer[None]):
    """Which enrolment tokens to list."""

    usable = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="devices can still join with it"
    )


class EnrolmentTokenViewSet(ListedViewSet[EnrolmentToken]):
    """Tokens with which devices join."""

    queryset = EnrolmentToken.objects.all()
    serializer_class = EnrolmentTokenSerializer
    filters = EnrolmentTokenFilter
    sorts = {name: name for name in ("label", "created_at", "expires_at", "uses")}
    searched = ("label",)

    def narrowed(self, rows: QuerySet[EnrolmentToken], query: QueryParameters) -> QuerySet[EnrolmentToken]:
        """By whether devices can still join with them."""
        usable = Q(revoked_at=None, expires_at__gt=timezone.now(), uses__lt=F("uses_allowed"))
        return rows if "usable" not in query else rows.filter(usable if query["usable"] else ~usable)

    @extend_schema(request=EnrolmentTokenSerializer, responses={201: IssuedEnrolmentTokenSerializer})
    def create(self, request: Request) -> Response:
        """A new token. Its secret is in this answer and nowhere else."""
        wanted = EnrolmentTokenSerializer(data=request.data)
        check_body(wanted)
        token, secret = services.create_enrolment_token(**wanted.validated_data, now=timezone.now())
        return Response({**EnrolmentTokenSerializer(token).data, "secret": secret}, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=EnrolmentTokenSerializer)
    @action(detail=True, methods=["post"])
    def revoke(self, _request: Request, **_: int) -> Response:
        """Let no more devices join with it; those that have stay."""
        token = self.get_object()
        services.revoke_enrolment_token(token=token, now=timezone.now())
        return Response(EnrolmentTokenSerializer(token).data)


class RenewalSerializer(serializers.ModelSerializer[CredentialRenewal]):
    """An order to take another credential, and how far devices are with it."""

    leaked = serializers.BooleanField(default=False)
    waiting = serializers.SerializerMethodField(help_text="have not followed it yet, and no later order asks them")
    unable = serializers.SerializerMethodField(help_text="of these: their agent cannot, and goes on as it is")

    class Meta:
        model = CredentialRenewal
        fields = ["id", "tag", "leaked", "devices", "waiting", "unable", "ordered_at"]
        read_only_fields = ["id", "devices", "ordered_at"]

    def get_waiting(self, order: CredentialRenewal) -> int:
        """How many."""
        return credentials.waiting_for(order).count()

    def get_unable(self, order: CredentialRenewal) -> int:
        """How many."""
        return credentials.waiting_for(order).exclude(credentials.renewable()).count()


class RenewalFilter(serializers.Serializer[None]):
    """Which orders to list."""

    tag = serializers.CharField(required=False, allow_blank=True, max_length=50)


class RenewalViewSet(ListedViewSet[CredentialRenewal]):
    """Orders that devices take another credential."""

    queryset = CredentialRenewal.objects.all()
    serializer_class = RenewalSerializer
    filters = RenewalFilter
    sorts = {"ordered_at": "ordered_at"}
    searched = ("tag",)

    def narrowed(self, rows: QuerySet[CredentialRenewal], query: QueryParameters) -> QuerySet[CredentialRenewal]:
        """By the tag that they were for."""
        return rows.filter(tag=query["tag"]) if "tag" in query else rows

    @extend_schema(request=RenewalSerializer, responses={201: RenewalSerializer})
    def create(self, request: Request) -> Response:
        """Have all devices of a tag, or the whole fleet, take another credential as they check in."""
        wanted = RenewalSerializer(data=request.data)
        check_body(wanted)
        order = credentials.renew_credentials(**wanted.validated_data, now=timezone.now())
        return Response(RenewalSerializer(order).data, status=status.HTTP_201_CREATED)
