"""The audit log in the operators' REST API, to look at."""

from django.db.models import QuerySet
from rest_framework import serializers

from coterie.audit.actions import ACTIONS
from coterie.audit.models import Entry
from coterie.core.choice_field import ChoiceField
from coterie.core.listing import ListedViewSet, QueryParameters


class EntrySerializer(serializers.ModelSerializer[Entry]):
    """One write."""

    title = serializers.SerializerMethodField(help_text="the action in words")
    before = serializers.DictField(read_only=True, help_text="changed columns as they were; empty where the row is new")
    after = serializers.DictField(read_only=True, help_text="the same columns after the write")

    class Meta:
        model = Entry
        fields = [
            "id",
            "at",
            "actor_kind",
            "actor_id",
            "actor_name",
            "token",
            "address",
            "action",
            "title",
            "subject_kind",
            "subject_id",
            "subject_name",
            "before",
            "after",
        ]
        read_only_fields = fields

    def get_title(self, entry: Entry) -> str:
        """The action in words."""
        return ACTIONS[entry.action].title if entry.action in ACTIONS else entry.action


class EntryFilter(serializers.Serializer[None]):
    """Which entries to list."""

    action = ChoiceField(sorted(ACTIONS), required=False)
    actor_kind = ChoiceField(Entry.ActorKind.choices, required=False)
    actor_id = serializers.CharField(required=False)
    subject_kind = serializers.CharField(required=False, help_text="e.g. fleet.device")
    subject_id = serializers.CharField(required=False)
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)


class EntryViewSet(ListedViewSet[Entry]):
    """Who did what, youngest first. Nothing changes an entry."""

    queryset = Entry.objects.all()
    serializer_class = EntrySerializer
    filters = EntryFilter
    sorts = {"at": "id"}
    searched = ("actor_name", "action", "subject_name", "subject_id")

    def narrowed(self, rows: QuerySet[Entry], query: QueryParameters) -> QuerySet[Entry]:
        """Between two moments, by who, what and whom."""
        moments = {"since": "at__gte", "until": "at__lt"}
        return rows.filter(**{moments.get(name, name): value for name, value in query.items()})
