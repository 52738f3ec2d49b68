"""Several federations of one pair at once, as for an A/B trial: each moves versions of its own."""

import msgspec
import pytest
from django.db import transaction

from coterie.federations.errors import NothingToBeginWith, NoVersionsOfItsOwn, PairInUse
from coterie.federations.models import Federation
from coterie.federations.services import (
    adopt_versions,
    create_federation,
    finish_federation,
    pause_federation,
    start_federation,
)
from coterie.registry.models import ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion, withdrawn_versions
from coterie.registry.services import roll_back
from coterie.rollouts.services import start_rollout
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Round
from coterie_wire.bundle import Manifest
from coterie_wire.messages import Directive
from tests.coterie.rollouts.world import another_version
from tests.coterie.rounds.test_lifecycle import in_this_process
from tests.coterie.world import ScriptedDevice, later, make_device, make_pair, make_version, merge_round

pytestmark = pytest.mark.django_db
PACE = {"kind": "sync", "target_updates": 1, "min_updates": 1, "over_selection": 1.0, "pause_s": 3600}


@pytest.fixture
def pair() -> ModelPair:
    return make_version(make_pair()).pair


def trial(pair: ModelPair, name: str, *, at: float = 0, **given: object) -> Federation:
    """One of a trial's federations, of the devices with its name as their tag."""
    plan = {"pace": PACE, "local": {"kind": "sgd"}}
    made = create_federation(
        **{
            "name": name,
            "pair": pair,
            "plan": plan,
            "device_tag": name,
            "own_versions": True,
            "now": later(at),
            **given,
        }
    )
    start_federation(federation=made, now=later(at))
    return made


def device(*tags: str) -> ScriptedDevice:
    return ScriptedDevice(make_device("-".join(tags), tags=tags))


def trained_from(directive: Directive) -> str:
    assert directive.assignment is not None
    return msgspec.json.decode(directive.assignment.manifest.manifest, type=Manifest).version


def learn(one: ScriptedDevice, federation: Federation, *, at: float, seed: int) -> ModelVersion:
    """The version of a round of `federation` that `one` takes part in alone."""
    directive = one.check_in(later(at))
    assert directive.assignment is not None and directive.assignment.federation == federation.slug
    one.deliver(directive.assignment.assignment, later(at + 1), seed=seed)
    sweep(now=later(at + 2))
    merge_round(federation.rounds.latest("number"), clock=lambda: later(at + 3), merger=in_this_process)
    return found(federation)


def found(federation: Federation) -> ModelVersion:
    version = champion(federation.pair_id, Role.DEVICE, federation.lineage())
    assert version is not None
    return version


def test_each_begins_with_the_pairs_version_and_moves_its_own(pair: ModelPair) -> None:
    first = champion(pair.pk, Role.DEVICE)
    a, b = trial(pair, "a"), trial(pair, "b", at=1)
    one, other = device("a"), device("b")
    assert [found(federation).parent for federation in (a, b)] == [first, first]
    assert Round.objects.count() == 0
    told = one.check_in(later(2)), other.check_in(later(2))
    assert [trained_from(directive) for directive in told] == [str(found(a).pk), str(found(b).pk)]
    assert {round_.state for round_ in Round.objects.all()} == {"open"}, "at the same time"

    made = learn(one, a, at=3, seed=1), learn(other, b, at=10, seed=2)
    assert [(version.lineage, version.number, version.origin) for version in made] == [
        ("a/base", 2, "merge"),
        ("b/base", 2, "merge"),
    ]
    assert made[0].parameters != made[1].parameters
    assert champion(pair.pk, Role.DEVICE) == first
    for who, version in zip((one, other), made, strict=True):
        manifest = who.check_in(later(20)).manifest
        assert manifest is not None
        assert msgspec.json.decode(manifest.manifest, type=Manifest).version == str(version.pk)


def test_one_without_versions_of_its_own_goes_on_with_the_pairs_beside_it(pair: ModelPair) -> None:
    usual, own = trial(pair, "usual", own_versions=False), trial(pair, "own")
    version = learn(device("usual"), usual, at=1, seed=1)
    assert (version.lineage, champion(pair.pk, Role.DEVICE)) == ("", version)
    assert found(own).number == 1
    with pytest.raises(PairInUse, match="own_versions"), transaction.atomic():
        trial(pair, "second", own_versions=False)


def test_a_device_may_be_in_two_and_answers_with_the_elders_version(pair: ModelPair) -> None:
    a, b = trial(pair, "a"), trial(pair, "b", at=1)
    both = device("a", "b")
    first = learn(both, a, at=2, seed=1)
    second = learn(both, b, at=10, seed=2)
    assert (first.lineage, second.lineage) == ("a/base", "b/base")
    manifest = both.check_in(later(20)).manifest
    assert manifest is not None
    assert msgspec.json.decode(manifest.manifest, type=Manifest).version == str(first.pk)


def test_it_goes_on_with_its_own_after_a_pause(pair: ModelPair) -> None:
    federation = trial(pair, "a")
    version = learn(device("a"), federation, at=1, seed=1)
    make_version(pair, seed=9)
    pause_federation(federation=federation, now=later(0))
    start_federation(federation=federation, now=later(9))
    assert found(federation) == version


def test_it_needs_a_version_to_begin_with() -> None:
    with pytest.raises(NothingToBeginWith), transaction.atomic():
        trial(make_pair(), "a")
    assert not Federation.objects.filter(state="running").exists()


def test_the_pair_takes_over_the_winners_version_and_goes_back_from_it(pair: ModelPair) -> None:
    before = champion(pair.pk, Role.DEVICE)
    federation = trial(pair, "a")
    won = learn(device("a"), federation, at=1, seed=1)
    finish_federation(federation=federation, now=later(0))
    (taken,) = adopt_versions(federation=federation, now=later(9))
    assert (taken.lineage, taken.origin, taken.parent) == ("", "copy", won)
    assert taken.parameters == won.parameters
    assert champion(pair.pk, Role.DEVICE) == taken
    assert adopt_versions(federation=federation, now=later(10)) == [taken], "once"
    assert roll_back(pair=pair, role=Role.DEVICE, to=None, now=later(11)) == before
    assert withdrawn_versions(pair.pk) == (taken.pk,), "the federation's own stay in use"


def test_only_versions_of_its_own_are_taken_over(pair: ModelPair) -> None:
    with pytest.raises(NoVersionsOfItsOwn):
        adopt_versions(federation=trial(pair, "a", own_versions=False), now=later(1))


def test_a_version_is_rolled_out_in_the_federation_that_moves_its_lineage(pair: ModelPair) -> None:
    trial(pair, "a")
    b = trial(pair, "b", at=1)
    candidate = another_version(found(b), "candidate", lineage=b.lineage())
    assert start_rollout(version=candidate, terms={}, now=later(2)).federation == b


def test_its_groups_have_lineages_of_its_own(pair: ModelPair) -> None:
    own, usual = trial(pair, "a"), trial(pair, "b", own_versions=False)
    assert [own.lineage(), own.lineage("group-1")] == ["a/base", "a/group-1"]
    assert [usual.lineage(), usual.lineage("group-1")] == ["", "group-1"]
    for federation in (own, usual):
        assert [federation.group_of(federation.lineage(group)) for group in ("", "group-1")] == ["", "group-1"]
