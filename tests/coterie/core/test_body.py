"""A body's misspelt field is told; what an answer has may be sent back."""

import pytest
from rest_framework import serializers

from coterie.core.body import check_body


class Named(serializers.Serializer[object]):
    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField()
    notes = serializers.CharField(required=False)


def test_what_is_declared_is_taken_and_what_only_answers_have_is_passed_over() -> None:
    given = Named(data={"id": 7, "name": "digits"})
    check_body(given)
    assert given.validated_data == {"name": "digits"}


def test_a_field_that_there_is_not_is_told_the_nearest() -> None:
    with pytest.raises(serializers.ValidationError) as refused:
        check_body(Named(data={"nmae": "digits", "note": ""}))
    assert refused.value.detail == {
        "nmae": "There is no such field, the nearest is 'name'; there are name, notes.",
        "note": "There is no such field, the nearest is 'notes'; there are name, notes.",
    }


def test_a_missing_field_and_a_body_that_is_no_object_are_told_as_ever() -> None:
    for wrong in ({}, [], "digits"):
        with pytest.raises(serializers.ValidationError):
            check_body(Named(data=wrong))


def test_of_very_many_the_first_are_told_and_none_at_length() -> None:
    with pytest.raises(serializers.ValidationError) as refused:
        check_body(Named(data={f"{number}{'x' * 100_000}": 1 for number in range(100)}))
    assert isinstance(refused.value.detail, dict)
    assert len(refused.value.detail) == 20
    assert max(map(len, refused.value.detail)) == 60


def test_where_nothing_is_taken_nothing_is_named() -> None:
    class Nothing(serializers.Serializer[object]):
        pass

    with pytest.raises(serializers.ValidationError, match="none is taken"):
        check_body(Nothing(data={"x" * 1000: 1}))
