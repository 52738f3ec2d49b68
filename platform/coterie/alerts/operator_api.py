"""Alerts in the operators' REST API."""

from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from coterie.alerts import services
from coterie.alerts.bundling import why_held
from coterie.alerts.models import Channel, Incident, Message, Notice, Rule, Severity
from coterie.core.body import check_body
from coterie.core.choice_field import ChoiceField
from coterie.core.key_field import KeyField
from coterie.core.listing import ListedViewSet, QueryParameters
from coterie.federations.models import Federation

HELD = "held"
STATES = [(HELD, HELD), *Message.State.choices]


class ChannelSerializer(serializers.ModelSerializer[Channel]):
    """A channel without what is secret of it."""

    serializer_choice_field = ChoiceField

    recipients = serializers.ListField(child=serializers.EmailField(), required=False, max_length=50)
    place = serializers.CharField(read_only=True, help_text="host of the URL, and the beginning of its SHA-256")
    held = serializers.SerializerMethodField(
        help_text="why it gets no message now: quiet, full (as many as it takes in an hour), paused; blank: it does"
    )

    class Meta:
        model = Channel
        fields = [
            "id",
            "name",
            "kind",
            "recipients",
            "place",
            "quiet_from",
            "quiet_until",
            "time_zone",
            "held",
            "is_active",
            "created_at",
        ]
        read_only_fields = ["id", "is_active", "created_at"]

    @extend_schema_field(ChoiceField(["", "quiet", "full", "paused"]))
    def get_held(self, channel: Channel) -> str:
        """Asked now."""
        return why_held(channel, now=timezone.now()) or ""


class WantedChannelSerializer(ChannelSerializer):
    """A channel to make; `url` is never shown again."""

    name = serializers.CharField(max_length=100)
    url = serializers.URLField(max_length=1000, required=False, write_only=True)

    class Meta(ChannelSerializer.Meta):
        fields = ["name", "kind", "recipients", "url", "quiet_from", "quiet_until", "time_zone"]


class NewChannelSerializer(ChannelSerializer):
    """A new channel; `secret`, which signs what a webhook is sent, is shown this once."""

    secret = serializers.CharField(read_only=True, help_text="blank: nothing signs what such a channel is sent")

    class Meta(ChannelSerializer.Meta):
        fields = [*ChannelSerializer.Meta.fields, "secret"]


class ChangedChannelSerializer(serializers.ModelSerializer[Channel]):
    """What to change."""

    recipients = serializers.ListField(child=serializers.EmailField(), required=False, max_length=50)
    url = serializers.URLField(max_length=1000, required=False)

    class Meta:
        model = Channel
        fields = ["recipients", "url", "quiet_from", "quiet_until", "time_zone", "is_active"]


class NoticeSerializer(serializers.ModelSerializer[Notice]):
    """What a channel is told, and whether it arrived."""

    channel_name = serializers.CharField(source="channel.name", read_only=True)
    state = serializers.SerializerMethodField()
    attempts = serializers.IntegerField(source="message.attempts", default=0, read_only=True)
    problem = serializers.CharField(source="message.problem", default="", read_only=True)
    sent_at = serializers.DateTimeField(source="message.ended_at", default=None, allow_null=True, read_only=True)
    resolved_at = serializers.DateTimeField(
        source="incident.resolved_at", default=None, allow_null=True, read_only=True, help_text="when it was over"
    )

    class Meta:
        model = Notice
        fields = [
            "id",
            "incident",
            "channel",
            "channel_name",
            "message",
            "rule_name",
            "change",
            "severity",
            "sentence",
            "path",
            "state",
            "attempts",
            "problem",
            "created_at",
            "sent_at",
            "resolved_at",
        ]
        read_only_fields = fields

    @extend_schema_field(ChoiceField(STATES))
    def get_state(self, notice: Notice) -> str:
        """Of its message; held: it has none yet."""
        return HELD if notice.message is None else notice.message.state


class ChannelViewSet(ListedViewSet[Channel]):
    """Where people are told: e-mail, Slack, Microsoft Teams, webhooks."""

    queryset = Channel.objects.all()
    serializer_class = ChannelSerializer
    sorts = {name: name for name in ("name", "kind", "created_at")}
    searched = ("name", "place")

    @extend_schema(request=WantedChannelSerializer, responses={201: NewChannelSerializer})
    def create(self, request: Request) -> Response:
        """A new channel. Its URL is kept and never shown; a webhook's secret is in this answer and nowhere else."""
        wanted = WantedChannelSerializer(data=request.data)
        check_body(wanted)
        channel, secret = services.create_channel(**wanted.validated_data, now=timezone.now())
        return Response({**ChannelSerializer(channel).data, "secret": secret}, status=status.HTTP_201_CREATED)

    @extend_schema(request=ChangedChannelSerializer(partial=True), responses=ChannelSerializer)
    def partial_update(self, request: Request, **_: int) -> Response:
        """Tell others, keep other quiet hours, or pause; what waits for a channel that is paused is dropped."""
        channel = self.get_object()
        change = ChangedChannelSerializer(channel, data=request.data, partial=True)
        check_body(change)
        services.change_channel(channel=channel, given=change.validated_data)
        return Response(ChannelSerializer(channel).data)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, **_: int) -> Response:
        """Remove it and its log; not while a rule tells it."""
        services.remove_channel(channel=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={201: NoticeSerializer})
    @action(detail=True, methods=["post"])
    def test(self, _request: Request, **_: int) -> Response:
        """Send a test message at once, quiet hours or not."""
        notice = services.try_channel(channel=self.get_object(), now=timezone.now())
        return Response(NoticeSerializer(notice).data, status=status.HTTP_201_CREATED)


class RuleSerializer(serializers.ModelSerializer[Rule]):
    """What is watched for."""

    serializer_choice_field = ChoiceField

    name = serializers.CharField(max_length=100)
    code = serializers.CharField(
        max_length=100, required=False, allow_blank=True, help_text="of repairs, or their kind; blank: any"
    )
    least = ChoiceField(Severity.choices, required=False, help_text="of repairs: errors, or warnings too")
    severity = ChoiceField(Severity.choices, required=False, help_text="of what it finds, but repairs")
    federation = serializers.PrimaryKeyRelatedField(
        queryset=Federation.objects.all(), required=False, allow_null=True, help_text="null: all"
    )
    federation_slug = serializers.CharField(
        source="federation.slug", default="", read_only=True, help_text="blank: all"
    )
    federation_name = serializers.CharField(
        source="federation.name", default="", read_only=True, help_text="blank: all"
    )
    threshold = serializers.FloatField(
        required=False, allow_null=True, help_text="a share of 1, hours, or rounds, as its kind says"
    )
    channels = serializers.ListField(child=KeyField(), min_length=1, max_length=50)
    firing = serializers.SerializerMethodField(help_text="incidents that are not over")

    class Meta:
        model = Rule
        fields = [
            "id",
            "name",
            "kind",
            "code",
            "least",
            "severity",
            "federation",
            "federation_slug",
            "federation_name",
            "threshold",
            "channels",
            "firing",
            "looked_at",
            "is_active",
            "created_at",
        ]
        read_only_fields = ["id", "looked_at", "is_active", "created_at"]

    def get_firing(self, rule: Rule) -> int:
        """Counted from what the list has loaded."""
        return len([incident for incident in rule.incidents.all() if incident.resolved_at is None])


class ChangedRuleSerializer(RuleSerializer):
    """What to change."""

    class Meta(RuleSerializer.Meta):
        fields = ["code", "least", "severity", "federation", "threshold", "channels", "is_active"]
        read_only_fields: list[str] = []


class RuleViewSet(ListedViewSet[Rule]):
    """What is watched for, and who is told."""

    queryset = Rule.objects.select_related("federation").prefetch_related(
        Prefetch("incidents", Incident.objects.filter(resolved_at=None))
    )
    serializer_class = RuleSerializer
    sorts = {name: name for name in ("name", "kind", "created_at")}
    searched = ("name", "code")

    @extend_schema(request=RuleSerializer, responses={201: RuleSerializer})
    def create(self, request: Request) -> Response:
        """A new rule; it is looked at within half a minute."""
        wanted = RuleSerializer(data=request.data)
        check_body(wanted)
        rule = services.create_rule(**wanted.validated_data, now=timezone.now())
        return Response(RuleSerializer(rule).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=ChangedRuleSerializer(partial=True), responses=RuleSerializer)
    def partial_update(self, request: Request, **_: int) -> Response:
        """Watch for something else of its kind, tell others, or pause."""
        rule = self.get_object()
        change = ChangedRuleSerializer(rule, data=request.data, partial=True)
        check_body(change)
        services.change_rule(rule=rule, given=change.validated_data)
        return Response(RuleSerializer(rule).data)

    @extend_schema(responses={204: None})
    def destroy(self, _request: Request, **_: int) -> Response:
        """Remove it and its incidents; what it has told stays in the log."""
        services.remove_rule(rule=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


class IncidentSerializer(serializers.ModelSerializer[Incident]):
    """From when a rule found something until it was gone."""

    rule_name = serializers.CharField(source="rule.name", read_only=True)

    class Meta:
        model = Incident
        fields = ["id", "rule", "rule_name", "key", "severity", "sentence", "path", "began_at", "resolved_at"]
        read_only_fields = fields


class IncidentFilter(serializers.Serializer[None]):
    """Which incidents to list."""

    rule = KeyField(required=False)
    firing = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="not over yet")


class IncidentViewSet(ListedViewSet[Incident]):
    """What rules found, of the last ninety days."""

    queryset = Incident.objects.select_related("rule")
    serializer_class = IncidentSerializer
    filters = IncidentFilter
    sorts = {name: name for name in ("began_at", "resolved_at", "severity")}
    searched = ("sentence", "rule__name")

    def narrowed(self, rows: QuerySet[Incident], query: QueryParameters) -> QuerySet[Incident]:
        """Those that are over, or are not."""
        if "firing" in query:
            rows = rows.filter(resolved_at__isnull=query["firing"])
        return rows.filter(rule=query["rule"]) if "rule" in query else rows


class NoticeFilter(serializers.Serializer[None]):
    """Which notices to list."""

    channel = KeyField(required=False)
    incident = KeyField(required=False)
    change = ChoiceField(Notice.Change.choices, required=False)
    state = ChoiceField(STATES, required=False)


class NoticeViewSet(ListedViewSet[Notice]):
    """The log: what channels were told in the last ninety days, and whether it arrived."""

    queryset = Notice.objects.select_related("channel", "message", "incident")
    serializer_class = NoticeSerializer
    filters = NoticeFilter
    sorts = {"created_at": "created_at"}
    searched = ("sentence", "rule_name", "channel__name")

    def narrowed(self, rows: QuerySet[Notice], query: QueryParameters) -> QuerySet[Notice]:
        """Those of a state, which is their message's."""
        wanted = dict(query)
        state = wanted.pop("state", None)
        if state is not None:
            rows = rows.filter(Q(message=None) if state == HELD else Q(message__state=state))
        return rows.filter(**wanted)
