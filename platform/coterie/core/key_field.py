"""Numbers that name rows, in requests."""

from rest_framework import serializers


class KeyField(serializers.IntegerField):
    """A row's key, no larger than the databases' own integers."""

    def __init__(self, *, required: bool = True, allow_null: bool = False, help_text: str | None = None) -> None:
        super().__init__(
            min_value=0, max_value=2**63 - 1, required=required, allow_null=allow_null, help_text=help_text
        )
