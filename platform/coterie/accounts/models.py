"""Operators and the tokens with which their programs speak to the API."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q


class Operator(AbstractUser):
    """A person who runs fleets."""


class ApiToken(models.Model):
    """A secret that stands for an operator; only its hash is kept."""

    operator = models.ForeignKey(Operator, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    secret_hash = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["operator", "name"], condition=Q(revoked_at=None), name="one_live_token_of_a_name"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.operator}"
