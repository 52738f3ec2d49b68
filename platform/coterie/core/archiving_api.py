"""How the REST API shows, changes and filters rows that may be archived."""

from rest_framework import serializers

MAX_NOTES = 4000
NOTES = "what people want to remember of it; plain text"
ARCHIVED_AT = "since when it is archived, which leaves it out of lists; null: it is not"


class NotesField(serializers.CharField):
    """Notes, which may be blank."""

    def __init__(self) -> None:
        super().__init__(required=False, allow_blank=True, max_length=MAX_NOTES, help_text=NOTES)


class ArchivedFilter(serializers.Serializer[None]):
    """Lists show what is not archived; ``?archived=true`` shows what is."""

    archived = serializers.BooleanField(default=False, help_text="those that are archived, instead of the others")
