"""Groups in the operators' REST API, to look at: splits alone change them."""

from typing import TypeVar

from django.db.models import QuerySet
from rest_framework import serializers

from coterie.core.listing import ListedViewSet, QueryParameters
from coterie.core.rows import count_of
from coterie.federations.models import Group, Membership, Split

MEMBERS = count_of(Membership._base_manager.filter(until=None), "group")
Timed = TypeVar("Timed", Group, Membership)


class GroupSerializer(serializers.ModelSerializer[Group]):
    """Devices that share models after a split."""

    members = serializers.IntegerField(read_only=True, help_text="devices that are in it now")
    lineage = serializers.SerializerMethodField(help_text="of its versions")

    class Meta:
        model = Group
        fields = ["id", "federation", "name", "lineage", "since", "until", "members"]
        read_only_fields = fields

    def get_lineage(self, group: Group) -> str:
        """Of its versions."""
        return group.federation.lineage(group.name)


class GroupFilter(serializers.Serializer[None]):
    """Which groups to list."""

    federation = serializers.UUIDField(required=False)
    current = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="only those with members"
    )


class GroupViewSet(ListedViewSet[Group]):
    """Groups; the models of one are the versions of its lineage."""

    queryset = Group.objects.select_related("federation").annotate(members=MEMBERS)
    serializer_class = GroupSerializer
    filters = GroupFilter
    sorts = {"name": "name", "since": "since"}

    def narrowed(self, rows: QuerySet[Group], query: QueryParameters) -> QuerySet[Group]:
        """A group has members until it ends."""
        return _current(rows, query)


class MembershipSerializer(serializers.ModelSerializer[Membership]):
    """A device's time in a group."""

    group_name = serializers.CharField(source="group.name", read_only=True)
    device_name = serializers.CharField(source="device.name", read_only=True)

    class Meta:
        model = Membership
        fields = ["id", "federation", "group", "group_name", "device", "device_name", "since", "since_round", "until"]
        read_only_fields = fields


class MembershipFilter(GroupFilter):
    """Which memberships to list."""

    group = serializers.IntegerField(required=False)
    device = serializers.UUIDField(required=False)


class MembershipViewSet(ListedViewSet[Membership]):
    """Which device was in which group, and since which round's split."""

    queryset = Membership.objects.select_related("group", "device")
    serializer_class = MembershipSerializer
    filters = MembershipFilter
    sorts = {"since": "since", "group": "group__name", "device": "device__name"}

    def narrowed(self, rows: QuerySet[Membership], query: QueryParameters) -> QuerySet[Membership]:
        """A membership lasts until the device is put elsewhere."""
        return _current(rows, query)


class SplitSerializer(serializers.ModelSerializer[Split]):
    """What was found when the models of a round's devices were compared."""

    silhouettes = serializers.DictField(
        child=serializers.FloatField(), read_only=True, help_text="by number of groups: how well they are separated"
    )
    distances = serializers.DictField(
        child=serializers.DictField(child=serializers.FloatField()),
        read_only=True,
        help_text="by two groups' names: how far apart their models are on average, in nats; of one: among themselves",
    )

    class Meta:
        model = Split
        fields = [
            "id",
            "federation",
            "round_number",
            "groups",
            "silhouettes",
            "distances",
            "reason_code",
            "reason_sentence",
            "at",
        ]
        read_only_fields = fields


class SplitFilter(serializers.Serializer[None]):
    """Which splits to list."""

    federation = serializers.UUIDField(required=False)


class SplitViewSet(ListedViewSet[Split]):
    """Why a federation's devices are divided as they are."""

    queryset = Split.objects.all()
    serializer_class = SplitSerializer
    filters = SplitFilter
    sorts = {"at": "at"}


def _current(rows: QuerySet[Timed], query: QueryParameters) -> QuerySet[Timed]:
    wanted = dict(query)
    current = wanted.pop("current", None)
    rows = rows.filter(**wanted)
    return rows if current is None else rows.filter(until__isnull=current)
