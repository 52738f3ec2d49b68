"""Operators, and the API tokens of their programs."""

from typing import ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.db import models
from django.db.models import Q

from coterie.audit.recording import audited
from coterie.core.acting import OperatorRole, Scope


def every_scope() -> list[str]:
    """A token without a choice may do whatever its owner may."""
    return [scope.value for scope in Scope]


ROLE_CHOICES = [(role.value, role.value) for role in OperatorRole]


class OperatorManager(UserManager["Operator"]):
    """Operators; who is made with a shell on the platform's machine is an administrator."""

    @audited("accounts.create_operator")
    def create_superuser(
        self, username: str, email: str | None = None, password: str | None = None, **more: object
    ) -> "Operator":
        """What ``coterie createsuperuser`` makes."""
        return super().create_superuser(username, email, password, role=OperatorRole.ADMINISTRATOR, **more)


class Operator(AbstractUser):
    """A person who runs fleets."""

    role = models.CharField(
        max_length=15,
        choices=[("", "none"), *ROLE_CHOICES],
        blank=True,
        default=OperatorRole.VIEWER,
    )
    """What services let the person do in the whole installation; blank: only what a `Grant` lets them do.

    Django's own permissions are not used.
    """

    sign_on_subject = models.CharField(max_length=500, null=True, blank=True, unique=True)
    """Issuer and subject by which an OpenID Connect provider knows the person; none: it does not."""

    links_used = models.PositiveIntegerField(default=0, editable=False)
    """Sign-in links that were used; one link names the number that it is made at, and so works once."""

    passkey_handle = models.BinaryField(max_length=64, null=True, unique=True, editable=False)
    """By which passkeys know the person; random, as it is kept on devices of all kinds. None: there was no passkey."""

    objects: ClassVar[OperatorManager] = OperatorManager()

    class Meta(AbstractUser.Meta):
        ordering = ["username"]
        constraints = [
            models.CheckConstraint(
                condition=Q(role__in=["", "viewer", "operator", "administrator"]), name="operator_role_known"
            )
        ]


class Organisation(models.Model):
    """Has projects, and people with a role in all of them."""

    name = models.CharField(max_length=100, unique=True)
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, blank=True)
    """Since when nobody acts in its projects; None: people do."""

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Project(models.Model):
    """What is kept apart: its devices, models and federations are seen by who acts in it (`core.separation`)."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="projects")
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, blank=True)
    """Since when nobody acts in it; None: people do."""

    class Meta:
        ordering = ["organisation__name", "name"]
        constraints = [models.UniqueConstraint(fields=["organisation", "name"], name="project_name_once")]

    def __str__(self) -> str:
        return f"{self.organisation} / {self.name}"


class CustomRole(models.Model):
    """Actions that an organisation has given a name; who has the role sees everything, and may do these."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="custom_roles")
    name = models.CharField(max_length=100)
    actions = models.JSONField(default=list)
    """Names in `coterie.audit.actions`, sorted."""
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["organisation__name", "name"]
        constraints = [models.UniqueConstraint(fields=["organisation", "name"], name="custom_role_name_once")]

    def __str__(self) -> str:
        return f"role {self.name} of {self.organisation}"


class Grant(models.Model):
    """A role of a person in one project, or in all projects of an organisation."""

    project_path = "project"

    operator = models.ForeignKey(Operator, on_delete=models.CASCADE, related_name="grants")
    organisation = models.ForeignKey(
        Organisation, null=True, blank=True, on_delete=models.CASCADE, related_name="grants"
    )
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.CASCADE, related_name="grants")
    role = models.CharField(max_length=15, choices=ROLE_CHOICES)
    """A viewer's where a custom role is given, which adds to it."""
    custom_role = models.ForeignKey(CustomRole, null=True, blank=True, on_delete=models.PROTECT, related_name="grants")
    by_sign_on = models.BooleanField(default=False, db_default=False)
    """Whether a `SignOnRole` gave it when the person signed in; then it goes with what the provider's claim says."""
    given_at = models.DateTimeField()

    class Meta:
        ordering = ["operator__username", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(organisation=None, project__isnull=False) | Q(organisation__isnull=False, project=None),
                name="grant_in_one",
            ),
            models.CheckConstraint(
                condition=Q(role__in=["viewer", "operator", "administrator"]), name="grant_role_known"
            ),
            models.UniqueConstraint(fields=["operator", "project"], name="one_role_in_a_project"),
            models.UniqueConstraint(fields=["operator", "organisation"], name="one_role_in_an_organisation"),
        ]

    def __str__(self) -> str:
        return f"{self.operator} in {self.project or self.organisation}"


class SignOnRole(models.Model):
    """A role in one place that a value of the OpenID Connect provider's claim gives to whoever signs in with it."""

    claim_value = models.CharField(max_length=200)
    """Of the claim that `COTERIE_OIDC_ROLE_CLAIM` names, such as a group; ``*``: whoever the provider lets in."""
    organisation = models.ForeignKey(Organisation, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=15, choices=ROLE_CHOICES)
    """A viewer's where a custom role is given, which adds to it."""
    custom_role = models.ForeignKey(CustomRole, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["claim_value", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(organisation=None, project__isnull=False) | Q(organisation__isnull=False, project=None),
                name="sign_on_role_in_one",
            ),
            models.CheckConstraint(
                condition=Q(role__in=["viewer", "operator", "administrator"]), name="sign_on_role_known"
            ),
            models.UniqueConstraint(fields=["claim_value", "project"], name="sign_on_role_once_in_a_project"),
            models.UniqueConstraint(
                fields=["claim_value", "organisation"], name="sign_on_role_once_in_an_organisation"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.claim_value} in {self.project or self.organisation}"


class SavedFilter(models.Model):
    """A query of one of the console's tables that a person has given a name."""

    operator = models.ForeignKey(Operator, on_delete=models.CASCADE, related_name="saved_filters")
    table = models.CharField(max_length=40)
    """The list's name in the REST API, e.g. ``devices``."""
    name = models.CharField(max_length=100)
    query = models.JSONField(default=dict, blank=True)
    """Query parameters by name."""

    class Meta:
        ordering = ["table", "name"]
        constraints = [models.UniqueConstraint(fields=["operator", "table", "name"], name="saved_filter_once")]

    def __str__(self) -> str:
        return f"{self.name} of {self.operator}"


class ApiToken(models.Model):
    """A secret that stands for an operator; only its hash is kept."""

    project_path = "project"

    operator = models.ForeignKey(Operator, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    scopes = models.JSONField(default=every_scope)
    """What it may be used for, within its operator's role: a list of `coterie.core.acting.Scope`."""
    project = models.ForeignKey(
        Project, null=True, blank=True, on_delete=models.CASCADE, related_name="+", editable=False
    )
    """The only one that it acts in; none: all, with its operator's role in the whole installation."""
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


class SecondFactor(models.Model):
    """The secret that an operator's authenticator app shares; one that is confirmed, one that is being set up."""

    operator = models.ForeignKey(Operator, on_delete=models.CASCADE, related_name="second_factors")
    secret = models.BinaryField(max_length=20, editable=False)
    last_step = models.BigIntegerField(default=-1, editable=False)
    """Time step of the last code that was used; no earlier one works any more."""
    created_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True, blank=True)
    """None: no code was given yet, and none is asked for at sign-in."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["operator"], condition=Q(confirmed_at__isnull=False), name="one_second_factor"
            ),
            models.UniqueConstraint(
                fields=["operator"], condition=Q(confirmed_at__isnull=True), name="one_second_factor_begun"
            ),
        ]

    def __str__(self) -> str:
        return f"second factor of {self.operator}"


class RecoveryCode(models.Model):
    """Stands once for a code of the app that was lost; only its hash is kept."""

    operator = models.ForeignKey(Operator, on_delete=models.CASCADE, related_name="recovery_codes")
    code_hash = models.CharField(max_length=64, editable=False)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["operator", "code_hash"], name="recovery_code_once")]

    def __str__(self) -> str:
        return f"recovery code of {self.operator}"


class Passkey(models.Model):
    """The public half of a key pair on a device of an operator's."""

    operator = models.ForeignKey(Operator, on_delete=models.CASCADE, related_name="passkeys")
    name = models.CharField(max_length=100)
    credential = models.BinaryField(max_length=1023, unique=True, editable=False)
    """What the device calls it."""
    public_key = models.BinaryField(editable=False)
    """A COSE key (RFC 9052)."""
    sign_count = models.BigIntegerField(default=0, editable=False)
    """Signatures that it has given, where it counts them; a lower count comes from a copy."""
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["operator", "name"], name="passkey_name_once")]

    def __str__(self) -> str:
        return f"passkey {self.name} of {self.operator}"


class PasskeyChallenge(models.Model):
    """Random bytes that a passkey is asked to sign; gone once an answer came."""

    class Purpose(models.TextChoices):
        """What the answer is good for."""

        REGISTER = "register"
        SIGN_IN = "sign_in"
        PROVE = "prove"
        """That it is the person who has given a password, or removes a passkey."""

    value = models.BinaryField(max_length=64, unique=True, editable=False)
    purpose = models.CharField(max_length=8, choices=Purpose)
    operator = models.ForeignKey(
        Operator, null=True, blank=True, on_delete=models.CASCADE, related_name="passkey_challenges"
    )
    """Who shall answer; None: whoever signs in."""
    made_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"challenge to {self.purpose}"


class BrowserSession(models.Model):
    """A browser in which an operator is signed in."""

    operator = models.ForeignKey(Operator, on_delete=models.CASCADE, related_name="browser_sessions")
    key = models.CharField(max_length=40, unique=True, editable=False)
    """Of Django's session; who knows it is signed in."""
    address = models.CharField(max_length=45, blank=True)
    """Where the latest request came from."""
    browser = models.CharField(max_length=300, blank=True)
    """As it calls itself."""
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    """When its latest request came, to the minute."""

    class Meta:
        ordering = ["-seen_at", "-id"]

    def __str__(self) -> str:
        return f"session of {self.operator} at {self.address}"
