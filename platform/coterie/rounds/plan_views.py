"""Plans before they are given: checked as they are typed, and compared with the one that runs."""

from dataclasses import asdict
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.accounts.permissions import SignedInToRead
from coterie.core.body import check_body
from coterie.federations.errors import PlanDoesNotFit
from coterie.federations.models import Federation
from coterie.federations.operator_api import ChangedPlanSerializer
from coterie.federations.previewing import PlanProblem, changes_between, complete, problems_of
from coterie.federations.selectors import members
from coterie.federations.services import check_plan_fits
from coterie.fleet.models import Device
from coterie.fleet.selectors import enrolled_devices
from coterie.registry.models import Dataset, ModelPair
from coterie.rounds.expected_traffic import ExpectedTraffic, expected_traffic
from coterie.rounds.plan_preview import effects_of, note_on_keeping, notes_on
from coterie_learning.plan import Plan, parse_plan
from coterie_wire.errors import WireError


class PlanProblemSerializer(serializers.Serializer[None]):
    """What is wrong with one slot."""

    slot = serializers.CharField(help_text="blank: the plan as a whole")
    field = serializers.CharField(help_text="blank: the slot as a whole")
    code = serializers.CharField()
    sentence = serializers.CharField()


class ExpectedTrafficSerializer(serializers.Serializer[None]):
    """What a plan makes devices send and fetch, in bytes."""

    update_bytes = serializers.IntegerField(
        help_text="that a device sends in a round, usually; exact where it lies between equal bounds"
    )
    least_update_bytes = serializers.IntegerField()
    most_update_bytes = serializers.IntegerField()
    version_bytes = serializers.IntegerField(help_text="of a version, that a device fetches whole")
    difference_bytes = serializers.IntegerField(
        help_text="that a device fetches, usually, which holds the version before"
    )
    round_up_bytes = serializers.IntegerField(help_text="that a round's devices send, if all updates come")
    round_down_bytes = serializers.IntegerField(help_text="that these devices fetch")
    rounds_a_month = serializers.FloatField(help_text="if each lasts until its deadline; others come more often")
    month_up_bytes = serializers.IntegerField(help_text="that the rounds of thirty days send")
    month_down_bytes = serializers.IntegerField(help_text="that they fetch")


class CheckedPlanSerializer(serializers.Serializer[None]):
    """Whether a plan can be given."""

    problems = PlanProblemSerializer(many=True, help_text="empty: it can")
    plan = serializers.DictField(allow_null=True, help_text="with every hyperparameter written out")
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="what keeps rounds from being held, or far apart, as sentences"
    )
    traffic = ExpectedTrafficSerializer(
        allow_null=True, help_text="null: the plan is refused or holds no rounds, or the model is not known"
    )


class TypedPlanSerializer(ChangedPlanSerializer):
    """A plan as it is typed, and whom it is for."""

    device_tag = serializers.CharField(
        max_length=50, allow_blank=True, default="", help_text="of the devices that it is for; blank: all"
    )
    pair = serializers.UUIDField(allow_null=True, default=None, help_text="whose device model it is for")
    cloud_data = serializers.UUIDField(
        allow_null=True, default=None, help_text="the data set that the cloud model would learn with"
    )


class PlanChangeSerializer(serializers.Serializer[None]):
    """A field that would change."""

    slot = serializers.CharField()
    field = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class PlanPreviewSerializer(CheckedPlanSerializer):
    """What another plan would change in a federation, and do."""

    changes = PlanChangeSerializer(many=True)
    effects = serializers.ListField(child=serializers.CharField(), help_text="as sentences")


class PlanCheckView(APIView):
    """A plan as it is typed; nothing is written."""

    permission_classes: "list[type[BasePermission]]" = [SignedInToRead]

    @extend_schema(request=TypedPlanSerializer, responses=CheckedPlanSerializer, operation_id="plan_check")
    def post(self, request: Request) -> Response:
        """Everything that is wrong with it, slot by slot; else the plan in full, and what the fleet lacks for it."""
        typed = TypedPlanSerializer(data=request.data)
        check_body(typed)
        devices = enrolled_devices(tag=typed.validated_data["device_tag"])
        raw = typed.validated_data["plan"]
        pair = ModelPair.objects.filter(pk=typed.validated_data["pair"], state=ModelPair.State.READY).first()
        cloud_data = Dataset.objects.filter(pk=typed.validated_data["cloud_data"]).first()
        unfit = None if pair is None else _unfit(raw, pair, cloud_data)
        return Response(_checked(raw, devices, pair) if unfit is None else _refused([unfit]))


class PlanPreviewView(APIView):
    """Another plan for a federation; nothing is written."""

    permission_classes: "list[type[BasePermission]]" = [SignedInToRead]

    @extend_schema(request=ChangedPlanSerializer, responses=PlanPreviewSerializer, operation_id="plan_preview")
    def post(self, request: Request, pk: UUID) -> Response:
        """What it would change, and what that would do."""
        federation = get_object_or_404(Federation, pk=pk)
        raw = _plan(request)
        unfit = _unfit(raw, federation.pair, federation.cloud_data)
        checked = _checked(raw, members(federation), federation.pair) if unfit is None else _refused([unfit])
        changes = [] if checked["problems"] else changes_between(complete(federation.plan), complete(raw))
        effects = [] if checked["problems"] else effects_of(federation, changes, raw, now=timezone.now())
        return Response({**checked, "changes": [asdict(change) for change in changes], "effects": effects})


def _plan(request: Request) -> dict[str, object]:
    given = ChangedPlanSerializer(data=request.data)
    check_body(given)
    plan: dict[str, object] = given.validated_data["plan"]
    return plan


def _unfit(raw: dict[str, object], pair: ModelPair, cloud_data: Dataset | None) -> dict[str, str] | None:
    """Why a valid plan does not fit this pair and data; None: it fits, or is not valid."""
    try:
        check_plan_fits(parse_plan(raw), pair, cloud_data)
    except PlanDoesNotFit as error:
        fields = error.fields
        return asdict(PlanProblem(str(fields["slot"]), "", str(fields["reason"]), str(error).rstrip(".")))
    except WireError:  # the plan itself is not valid
        return None
    return None


def _checked(raw: dict[str, object], devices: QuerySet[Device], pair: ModelPair | None) -> dict[str, object]:
    problems = [asdict(problem) for problem in problems_of(raw)]
    if problems:
        return _refused(problems)
    plan = parse_plan(raw)
    traffic = None if pair is None else _traffic(plan, pair)
    keeping = [] if traffic is None else note_on_keeping(plan, traffic)
    return {
        "problems": [],
        "plan": complete(raw),
        "notes": [*notes_on(plan, members=devices.count()), *keeping],
        "traffic": None if traffic is None else asdict(traffic),
    }


def _traffic(plan: Plan, pair: ModelPair) -> ExpectedTraffic | None:
    try:
        return expected_traffic(plan, pair.model_spec())
    except WireError:  # the plan does not fit the model, which is reported when the federation is created
        return None


def _refused(problems: list[dict[str, str]]) -> dict[str, object]:
    return {"problems": problems, "plan": None, "notes": [], "traffic": None}
