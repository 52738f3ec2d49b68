"""Privacy budgets, and what has been spent of them, in the operators' REST API."""

from dataclasses import asdict
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from coterie.core.body import check_body
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.privacy.accounting import epsilon_of
from coterie.privacy.models import Account
from coterie.privacy.selectors import (
    Limit,
    Point,
    cost_under,
    curve_of,
    largest_spent,
    limit_of,
    rounds_left,
)
from coterie.privacy.services import change_device_budget, change_federation_budget

EPSILON = "what may be told in all: the likelihoods of anything seen, with and without a device, are within e^epsilon"
DELTA = "but for events of this probability; below one in as many as there are devices"


class BudgetSerializer(serializers.Serializer[Limit]):
    """A privacy budget; the unit of privacy is the device."""

    epsilon = serializers.FloatField(min_value=1e-3, max_value=1e3, help_text=EPSILON)
    delta = serializers.FloatField(min_value=1e-15, max_value=1e-2, help_text=DELTA)


class LimitSerializer(BudgetSerializer):
    """The budget that holds."""

    changed_at = serializers.DateTimeField(allow_null=True, help_text="null: the default, which nobody has changed")


class PointSerializer(serializers.Serializer[Point]):
    """After a release."""

    at = serializers.DateTimeField()
    release = serializers.CharField(help_text="merge NUMBER, or update ASSIGNMENT HASH")
    devices = serializers.IntegerField(help_text="that it told of")
    epsilon = serializers.FloatField(help_text="of the device of which most had been told by then")


class FederationPrivacySerializer(serializers.Serializer[None]):
    """What a federation tells of its devices."""

    kind = serializers.CharField(help_text="of the plan's slot privacy")
    budget = LimitSerializer()
    epsilon = serializers.FloatField(help_text="spent: of the device of which most has been told")
    epsilon_of_release = serializers.FloatField(
        allow_null=True, help_text="of one alone; null: the plan spends nothing"
    )
    rounds_left = serializers.IntegerField(
        allow_null=True,
        help_text="that budgets, and correlated noise, allow if devices take turns; null: the plan spends nothing",
    )
    curve = PointSerializer(many=True, help_text="oldest first, at most 500")


class DeviceAccountSerializer(serializers.Serializer[None]):
    """What one federation has told of a device."""

    federation = serializers.UUIDField()
    federation_slug = serializers.CharField()
    federation_name = serializers.CharField()
    releases = serializers.IntegerField()
    epsilon = serializers.FloatField(help_text="of them alone, at the delta of the device's budget")


class DevicePrivacySerializer(serializers.Serializer[None]):
    """What has been told of a device."""

    budget = LimitSerializer()
    epsilon = serializers.FloatField(help_text="spent, all federations together")
    accounts = DeviceAccountSerializer(many=True)


class FederationPrivacyView(APIView):
    """A federation's budget."""

    @extend_schema(responses=FederationPrivacySerializer, operation_id="federations_privacy")
    def get(self, _request: Request, pk: UUID) -> Response:
        """What it is, what has been spent, and how long it lasts."""
        return Response(_of_federation(get_object_or_404(Federation, pk=pk)))

    @extend_schema(
        request=BudgetSerializer, responses=FederationPrivacySerializer, operation_id="federations_privacy_change"
    )
    def put(self, request: Request, pk: UUID) -> Response:
        """Another budget, from the next release on."""
        federation, given = get_object_or_404(Federation, pk=pk), _given(request)
        change_federation_budget(federation=federation, now=timezone.now(), **given)
        return Response(_of_federation(federation))


class DevicePrivacyView(APIView):
    """A device's budget, across all federations."""

    @extend_schema(responses=DevicePrivacySerializer, operation_id="devices_privacy")
    def get(self, _request: Request, pk: UUID) -> Response:
        """What it is, and what has been spent of it by whom."""
        return Response(_of_device(get_object_or_404(Device, pk=pk)))

    @extend_schema(request=BudgetSerializer, responses=DevicePrivacySerializer, operation_id="devices_privacy_change")
    def put(self, request: Request, pk: UUID) -> Response:
        """Another budget, from the next release on."""
        device, given = get_object_or_404(Device, pk=pk), _given(request)
        change_device_budget(device=device, now=timezone.now(), **given)
        return Response(_of_device(device))


def _given(request: Request) -> dict[str, float]:
    given = BudgetSerializer(data=request.data)
    check_body(given)
    return {name: float(given.validated_data[name]) for name in ("epsilon", "delta")}


def _of_federation(federation: Federation) -> dict[str, object]:
    plan, limit = federation.parsed_plan(), limit_of(federation)
    cost = cost_under(plan)
    return {
        "kind": plan.privacy.name,
        "budget": LimitSerializer(limit).data,
        "epsilon": largest_spent(federation),
        "epsilon_of_release": None if cost is None else epsilon_of(cost, limit.delta),
        "rounds_left": rounds_left(federation, plan),
        "curve": [asdict(point) for point in curve_of(federation)],
    }


def _of_device(device: Device) -> dict[str, object]:
    limit = limit_of(device)
    accounts = list(Account.objects.filter(device=device).select_related("federation").order_by("federation__slug"))
    return {
        "budget": LimitSerializer(limit).data,
        "epsilon": epsilon_of(sum(account.mu2 for account in accounts), limit.delta),
        "accounts": [
            {
                "federation": account.federation_id,
                "federation_slug": account.federation.slug,
                "federation_name": account.federation.name,
                "releases": account.releases,
                "epsilon": epsilon_of(account.mu2, limit.delta),
            }
            for account in accounts
        ],
    }
