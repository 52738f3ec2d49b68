"""How the operators' REST API asks why a person does something."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from coterie.core.body import check_body
from coterie.core.why import LONGEST_WHY


class WhyField(serializers.CharField):
    """A sentence, or nothing; `help_text` tells where it is shown."""

    def __init__(self, *, help_text: str, **more: Any) -> None:  # noqa: ANN401 - as the REST framework has them
        super().__init__(default="", allow_blank=True, max_length=LONGEST_WHY, help_text=help_text, **more)


def why_in(request: Request, declared: type[serializers.Serializer[None]]) -> str:
    """The reason in a body that is `declared` to have a `WhyField` called `why`. Raises ValidationError."""
    given = declared(data=request.data)
    check_body(given)
    return str(given.validated_data["why"])
