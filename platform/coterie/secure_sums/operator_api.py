"""The log of identities in the operators' REST API, to compare with what devices and their owners have."""

from django.db.models import QuerySet
from rest_framework import serializers

from coterie.core.acting import current_actor
from coterie.core.listing import ListedViewSet
from coterie.fleet.models import Device
from coterie.secure_sums.models import Identity


class IdentitySerializer(serializers.ModelSerializer[Identity]):
    """An entry of the log."""

    identity = serializers.SerializerMethodField(help_text="Ed25519 public key of the device's own, in hexadecimal")
    head = serializers.SerializerMethodField(
        help_text="hash of the log up to this entry, in hexadecimal; a device that has read as much shows the same"
    )

    class Meta:
        model = Identity
        fields = ["position", "device", "identity", "head", "since"]
        read_only_fields = fields

    def get_identity(self, entry: Identity) -> str:
        return bytes(entry.key).hex()

    def get_head(self, entry: Identity) -> str:
        return bytes(entry.head).hex()


class IdentityViewSet(ListedViewSet[Identity]):
    """Which key each device signs with in secure sums, youngest first. Nothing changes an entry."""

    queryset = Identity.objects.order_by("-position")
    serializer_class = IdentitySerializer
    sorts = {"position": "position"}

    def get_queryset(self) -> QuerySet[Identity]:
        """One log for all projects; who acts in one sees the entries of its devices."""
        log = super().get_queryset()
        if current_actor().project is None:
            return log
        return log.filter(device__in=Device.objects.order_by().values("pk"))
