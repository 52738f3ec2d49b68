"""What is none of a field's choices is told the nearest one, and those that there are."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import get_resolver
from rest_framework import serializers
from rest_framework.serializers import ModelSerializer
from rest_framework.test import APIClient

from coterie.core.choice_field import ChoiceField, MultipleChoiceField


def refused(field: ChoiceField, value: object) -> str:
    with pytest.raises(serializers.ValidationError) as error:
        field.run_validation(value)
    assert isinstance(error.value.detail, list)
    (sentence,) = error.value.detail
    return str(sentence)


def test_the_nearest_and_the_known_are_named() -> None:
    field = ChoiceField([("open", "Open"), ("merging", "Merging"), ("published", "Published")])
    assert (
        refused(field, "publish")
        == "There is no 'publish', the nearest is 'published'; there are open, merging, published."
    )
    assert field.run_validation("merging") == "merging"


@pytest.mark.parametrize("value", [{"a": 1}, ["open"], 3, True, "x" * 10_000])
def test_whatever_is_given_is_told_in_one_line(value: object) -> None:
    sentence = refused(ChoiceField(["open", "closed"]), value)
    assert sentence.endswith("there are open, closed.")
    assert len(sentence) < 200


def test_of_many_only_the_nearest_are_named() -> None:
    field = ChoiceField([f"fleet.action_{number}" for number in range(100)])
    assert refused(field, "fleet.action_4x") == (
        "There is no 'fleet.action_4x', the nearest of 100 are 'fleet.action_4', 'fleet.action_14', 'fleet.action_24'."
    )


def test_blank_is_no_choice_unless_it_may_be_left_out() -> None:
    assert ChoiceField(["open"], allow_blank=True).run_validation("") == ""
    assert refused(ChoiceField(["open"]), "") == "There is no '', the nearest is 'open'; there are open."


def test_so_it_is_of_several() -> None:
    field = MultipleChoiceField(choices=["fleet:read", "fleet:write"])
    assert field.run_validation(["fleet:read"]) == ["fleet:read"]
    with pytest.raises(serializers.ValidationError, match="'fleet:reed', the nearest is 'fleet:read'"):
        field.run_validation(["fleet:reed"])


@pytest.mark.django_db
def test_a_filter_says_so_beside_others(api: APIClient) -> None:
    answer = api.get("/api/federations/?state=s&archived=perhaps")
    assert answer.status_code == 400
    assert answer.json()["detail"] == (
        "archived: Must be a valid boolean; "
        "state: There is no 's', the nearest is 'paused'; there are draft, running, paused, finished."
    )


def test_every_field_that_is_asked_with_choices_is_such_a_one() -> None:
    assert get_resolver().url_patterns  # which imports every serializer
    others = {
        f"{kind.__module__}.{kind.__qualname__}.{name}"
        for kind in _all(serializers.Serializer)
        if kind.__module__.startswith("coterie.") and (not issubclass(kind, ModelSerializer) or hasattr(kind, "Meta"))
        for name, field in kind().fields.items()
        if isinstance(one := getattr(field, "child", field), serializers.ChoiceField)
        and not field.read_only
        and not isinstance(one, ChoiceField | MultipleChoiceField)
    }
    assert sorted(others) == []


def _all(kind: "type[serializers.Serializer[Any]]") -> "Iterator[type[serializers.Serializer[Any]]]":
    for one in kind.__subclasses__():
        yield one
        yield from _all(one)
