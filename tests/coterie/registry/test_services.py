import pytest

from coterie.core.errors import CoterieError
from coterie.core.identity import verify_key
from coterie.registry.errors import (
    BadLabels,
    Immutable,
    LossProgramMismatch,
    NameTaken,
    NothingToRollBackTo,
    NotReady,
    NoUploadedWeights,
    UnknownVersion,
)
from coterie.registry.models import ModelPair, ModelVersion, Role
from coterie.registry.selectors import ancestry, champion, device_blob, signed_manifest, withdrawn_versions
from coterie.registry.services import (
    move_champion,
    publish_version,
    roll_back,
    submit_pair,
    use_uploaded_weights,
)
from coterie_wire.bundle import verify_manifest
from coterie_wire.errors import WireError
from tests.coterie.world import MODEL, START, keep, make_pair, make_version

pytestmark = pytest.mark.django_db


def child_of(version: ModelVersion, content: bytes) -> ModelVersion:
    return publish_version(
        pair_id=version.pair_id,
        role=Role.DEVICE,
        origin=ModelVersion.Origin.MERGE,
        parent=version,
        parameters=keep(content),
        metrics={"accuracy": 0.5},
        now=START,
    )


class TestVersions:
    def test_are_numbered_by_pair_and_role(self) -> None:
        pair, other = make_pair(), make_pair("other")
        numbers = [make_version(pair).number, make_version(pair, seed=1).number, make_version(other).number]
        assert [*numbers, make_version(pair, role=Role.CLOUD).number] == [1, 2, 1, 1]

    def test_never_change(self) -> None:
        version = make_version(make_pair())
        version.number = 7
        with pytest.raises(Immutable):
            version.save()
        with pytest.raises(Immutable):
            ModelVersion.objects.get().save()
        version.refresh_from_db()
        assert version.number == 1

    def test_need_a_pair_that_passed_its_preflight(self) -> None:
        pair = make_pair()
        ModelPair.objects.update(state="rejected")
        with pytest.raises(NotReady):
            make_version(pair)

    def test_know_their_ancestors(self) -> None:
        first = make_version(make_pair())
        second = child_of(first, b"second")
        assert ancestry(child_of(second, b"third"))[1:] == [second, first]


class TestUploadedWeights:
    def test_are_the_first_versions(self) -> None:
        pair = make_pair()
        pair.initial_cloud_parameters = keep(b"of the cloud model")
        pair.save()
        cloud, device = (use_uploaded_weights(pair=pair, role=role, now=START) for role in (Role.CLOUD, Role.DEVICE))
        assert [(version.role, version.number, version.origin) for version in (cloud, device)] == [
            ("cloud", 1, "upload"),
            ("device", 1, "upload"),
        ]
        assert (cloud.parameters, device.parameters) == (pair.initial_cloud_parameters, pair.initial_parameters)
        assert (champion(pair.pk, Role.CLOUD), champion(pair.pk, Role.DEVICE)) == (cloud, device)
        assert verify_manifest(signed_manifest(device.pk), verify_key()).parameters.sha256 == pair.initial_parameters_id

    def test_follow_what_was_in_use_and_are_used_once(self) -> None:
        before = make_version(make_pair(), seed=1)
        for _ in range(2):
            version = use_uploaded_weights(pair=before.pair, role=Role.DEVICE, now=START)
            assert (version.number, version.parent) == (2, before)

    def test_of_a_cloud_model_are_known_since_pairs_are_checked_for_them(self) -> None:
        pair = make_pair()
        with pytest.raises(NoUploadedWeights, match="cloud"):
            use_uploaded_weights(pair=pair, role=Role.CLOUD, now=START)

    def test_need_a_pair_that_passed_its_preflight(self) -> None:
        pair = make_pair()
        pair.state = ModelPair.State.REJECTED
        with pytest.raises(NotReady):
            use_uploaded_weights(pair=pair, role=Role.DEVICE, now=START)


class TestChampion:
    def test_is_what_was_published_last(self) -> None:
        first = make_version(make_pair())
        assert champion(first.pair_id, Role.DEVICE) == first
        second = child_of(first, b"second")
        assert champion(first.pair_id, Role.DEVICE) == second
        assert champion(first.pair_id, Role.CLOUD) is None

    def test_goes_back_to_its_parent_or_to_any_version(self) -> None:
        first = make_version(make_pair())
        second = child_of(first, b"second")
        assert roll_back(pair=first.pair, role=Role.DEVICE, to=None, now=START) == first
        assert champion(first.pair_id, Role.DEVICE) == first
        assert roll_back(pair=first.pair, role=Role.DEVICE, to=second.pk, now=START) == second
        assert champion(first.pair_id, Role.DEVICE) == second

    def test_that_goes_back_withdraws_what_lies_between_until_it_is_used_again(self) -> None:
        first = make_version(make_pair())
        second = child_of(first, b"second")
        third = child_of(second, b"third")
        assert withdrawn_versions(first.pair_id) == ()
        roll_back(pair=first.pair, role=Role.DEVICE, to=first.pk, now=START)
        assert set(withdrawn_versions(first.pair_id)) == {second.pk, third.pk}
        fourth = child_of(first, b"fourth")
        assert set(withdrawn_versions(first.pair_id)) == {second.pk, third.pk}, "rounds go on from what is in use"
        roll_back(pair=first.pair, role=Role.DEVICE, to=second.pk, now=START)
        assert set(withdrawn_versions(first.pair_id)) == {third.pk, fourth.pk}
        move_champion(version=third, now=START)
        assert withdrawn_versions(first.pair_id) == (fourth.pk,)

    def test_of_the_cloud_model_withdraws_nothing(self) -> None:
        first = make_version(make_pair(), role=Role.CLOUD)
        make_version(first.pair, role=Role.CLOUD, seed=1)
        roll_back(pair=first.pair, role=Role.CLOUD, to=first.pk, now=START)
        assert withdrawn_versions(first.pair_id) == ()

    def test_cannot_go_back_further_than_the_first(self) -> None:
        first = make_version(make_pair())
        with pytest.raises(NothingToRollBackTo):
            roll_back(pair=first.pair, role=Role.DEVICE, to=None, now=START)

    def test_stays_within_its_pair_and_role(self) -> None:
        first = make_version(make_pair())
        foreign = make_version(make_pair("other"))
        cloud = make_version(first.pair, role=Role.CLOUD)
        for version in (foreign, cloud):
            with pytest.raises(UnknownVersion):
                roll_back(pair=first.pair, role=Role.DEVICE, to=version.pk, now=START)


class TestManifest:
    def test_is_signed_and_complete(self) -> None:
        version = make_version(make_pair())
        manifest = verify_manifest(signed_manifest(version.pk), verify_key())
        assert (manifest.pair, manifest.version, manifest.number) == (str(version.pair_id), str(version.pk), 1)
        assert manifest.model == MODEL
        assert manifest.labels == ("a", "b", "c")
        for part in (manifest.train_step, manifest.predict, manifest.parameters):
            assert device_blob(part.sha256).reference() == part


class TestDeviceBlobs:
    def test_are_no_programs_data_sets_or_cloud_models(self) -> None:
        pair = make_pair()
        cloud = make_version(pair, seed=9, role=Role.CLOUD)
        for sha256 in (pair.device_program_id, pair.cloud_program_id, cloud.parameters_id, "0" * 64):
            with pytest.raises(CoterieError) as caught:
                device_blob(sha256)
            assert caught.value.code == "registry.unknown_blob"


class TestSubmission:
    @pytest.fixture
    def program(self, tmp_path):
        path = tmp_path / "program.pt2"
        path.write_bytes(b"whatever")
        return path

    def test_waits_to_be_checked(self, program) -> None:
        pair = submit_pair(
            name="Digits", device_program=program, cloud_program=program, labels=["a", "b"], batch_size=8, now=START
        )
        assert (pair.state, pair.slug, pair.spec) == ("checking", "digits", None)

    def test_takes_a_name_once_until_it_is_rejected(self, program) -> None:
        def submit() -> ModelPair:
            labels = ["a", "b"]
            return submit_pair(
                name="Digits", device_program=program, cloud_program=program, labels=labels, batch_size=8, now=START
            )

        make_pair("digits")
        with pytest.raises(NameTaken):
            submit()
        ModelPair.objects.update(state="rejected")
        assert submit().slug == "digits"
        with pytest.raises(NameTaken):
            submit()

    def test_keeps_its_recipe_with_every_setting(self, program) -> None:
        recipe = {"loss": {"kind": "mean_squared_error"}, "optimiser": {"kind": "adam"}}
        given = {"device_program": program, "cloud_program": program, "batch_size": 8, "now": START}
        pair = submit_pair(name="Digits", labels=[], recipe=recipe, **given)
        assert pair.recipe["optimiser"]["beta2"] == 0.999
        with pytest.raises(BadLabels, match="have none"):
            submit_pair(name="Others", labels=["a", "b"], recipe=recipe, **given)
        with pytest.raises(WireError) as caught:
            submit_pair(name="Others", labels=["a", "b"], recipe={"loss": {"kind": "hinge"}}, **given)
        assert caught.value.code == "recipe.invalid"

    def test_keeps_the_program_of_a_loss_of_its_own(self, program, tmp_path) -> None:
        loss = tmp_path / "loss.pt2"
        loss.write_bytes(b"a loss")
        given = {"device_program": program, "cloud_program": program, "batch_size": 8, "labels": [], "now": START}
        custom = {"loss": {"kind": "custom"}}
        pair = submit_pair(name="Digits", recipe=custom, loss_program=loss, **given)
        assert pair.loss_program is not None
        assert pair.loss_program.size_bytes == len(b"a loss")
        for recipe, file in ((custom, None), ({"loss": {"kind": "mean_squared_error"}}, loss)):
            with pytest.raises(LossProgramMismatch):
                submit_pair(name="Others", recipe=recipe, loss_program=file, **given)

    @pytest.mark.parametrize("labels", [[], ["a"], ["a", "a"], ["a", ""]])
    def test_needs_labels(self, program, labels: list[str]) -> None:
        with pytest.raises(BadLabels):
            submit_pair(
                name="Digits", device_program=program, cloud_program=program, labels=labels, batch_size=8, now=START
            )
