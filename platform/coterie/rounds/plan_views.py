"""Plans before they are given: checked as they are typed, and compared with the one that runs."""

from dataclasses import asdict
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.accounts.permissions import SignedInToRead
from coterie.federations.errors import PlanDoesNotFit
from coterie.federations.models import Federation
from coterie.federations.operator_api import ChangedPlanSerializer
from coterie.federations.previewing import PlanProblem, changes_between, complete, problems_of
from coterie.federations.services import check_plan_fits
from coterie.rounds.plan_preview import effects_of
from coterie_learning.plan import parse_plan
from coterie_wire.errors import WireError


class PlanProblemSerializer(serializers.Serializer[None]):
    """What is wrong with one slot."""

    slot = serializers.CharField(help_text="blank: the plan as a whole")
    field = serializers.CharField(help_text="blank: the slot as a whole")
    code = serializers.CharField()
    sentence = serializers.CharField()


class CheckedPlanSerializer(serializers.Serializer[None]):
    """Whether a plan can be given."""

    problems = PlanProblemSerializer(many=True, help_text="empty: it can")
    plan = serializers.DictField(allow_null=True, help_text="with every hyperparameter written out")


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

    @extend_schema(request=ChangedPlanSerializer, responses=CheckedPlanSerializer, operation_id="plan_check")
    def post(self, request: Request) -> Response:
        """Everything that is wrong with it, slot by slot; else the plan in full."""
        return Response(_checked(_plan(request)))


class PlanPreviewView(APIView):
    """Another plan for a federation; nothing is written."""

    permission_classes: "list[type[BasePermission]]" = [SignedInToRead]

    @extend_schema(request=ChangedPlanSerializer, responses=PlanPreviewSerializer, operation_id="plan_preview")
    def post(self, request: Request, pk: UUID) -> Response:
        """What it would change, and what that would do."""
        federation = get_object_or_404(Federation, pk=pk)
        raw = _plan(request)
        checked = _checked(raw) if (unfit := _unfit(federation, raw)) is None else {"problems": [unfit], "plan": None}
        changes = [] if checked["problems"] else changes_between(complete(federation.plan), complete(raw))
        effects = [] if checked["problems"] else effects_of(federation, changes, raw, now=timezone.now())
        return Response({**checked, "changes": [asdict(change) for change in changes], "effects": effects})


def _plan(request: Request) -> dict[str, object]:
    given = ChangedPlanSerializer(data=request.data)
    given.is_valid(raise_exception=True)
    plan: dict[str, object] = given.validated_data["plan"]
    return plan


def _unfit(federation: Federation, raw: dict[str, object]) -> dict[str, str] | None:
    """Why a plan that is right in itself is none for this federation's pair and data."""
    try:
        check_plan_fits(parse_plan(raw), federation.pair, federation.cloud_data)
    except PlanDoesNotFit as error:
        told = error.fields
        return asdict(PlanProblem(str(told["slot"]), "", str(told["reason"]), str(error).rstrip(".")))
    except WireError:  # it is not right in itself
        return None
    return None


def _checked(raw: dict[str, object]) -> dict[str, object]:
    problems = problems_of(raw)
    return {"problems": [asdict(problem) for problem in problems], "plan": None if problems else complete(raw)}
