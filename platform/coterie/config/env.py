"""The only reader of the environment."""

import os
import re
import sys
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal, Self, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from coterie.cluster.launchers import LauncherName
from coterie_wire.structs import from_values

PREFIX = "COTERIE_"
LISTS = {
    "allowed_hosts",
    "cluster_quotas",
    "cluster_sbatch",
    "copies",
    "trusted_proxies",
    "webhook_hosts",
    "android_apps",
    "exporters",
    "second_factor_for",
    "oidc_administrators",
    "oidc_operators",
    "oidc_viewers",
}
SECRETS = {
    "database_url",
    "redis_url",
    "secret_key",
    "signing_key",
    "device_ca_key",
    "s3_key_id",
    "s3_secret",
    "oidc_client_secret",
    "email_password",
    "mlflow_token",
    "wandb_key",
}
IN_FILE = "_file"
"""Behind the name of a secret: the name of a file that holds it, as containers are given secrets."""
NEEDED_WHEN_SCALED = ("database_url", "redis_url", "secret_key", "signing_key")
SHORTEST_HISTORY_DAYS = 30
FINGERPRINT = "[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){31}"
"""Of a certificate, as ``keytool -list -v`` prints it."""


class Env(msgspec.Struct, frozen=True, kw_only=True):
    """What the environment may set, each with its default; the name is ``COTERIE_`` and the field in capitals."""

    mode: Literal["embedded", "scaled"] = "embedded"
    """Embedded: SQLite, files and threads in one process. Scaled: PostgreSQL, Redis, any number of processes."""
    state: Path = Path("coterie-state")
    """Directory of everything that embedded mode keeps, and of the blobs where no object storage is set."""
    database_url: str = ""
    """Scaled: ``postgresql://user:password@host:port/name``, and parameters of libpq, as
    ``?sslmode=verify-full``."""
    redis_url: str = ""
    """Scaled: ``redis://host:port/db``."""
    secret_key: str = ""
    """Scaled: Django's secret. Embedded makes one and keeps it in the state directory."""
    signing_key: str = ""
    """Scaled: seed of the Ed25519 key that signs manifests, 64 hexadecimal digits. Embedded makes one and keeps it."""
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    """Names under which clients reach the platform, separated by commas."""
    public_url: str = ""
    """Where people and devices reach the platform, as ``https://fleet.example``: sign-in links begin with it, its host
    is allowed, passkeys are made for it, and where it is https cookies travel over TLS alone."""
    stun: Annotated[str, Meta(pattern=r"^([A-Za-z0-9.\-\[\]:]{1,255}:[0-9]{1,5})?$")] = ""
    """``HOST:PORT`` of a STUN server that tells devices the addresses under which others see them, so that they meet
    by direct paths; ``coterie answer-stun`` is one. Blank: they meet within one network only."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are believed, by commas."""
    spool: Path | None = None
    """Directory in which large uploads lie while they come; by default one among the system's temporary files."""
    spool_bytes: Annotated[int, Meta(ge=1 << 20)] = 6 << 30
    """What uploads under way may take there in each process; one takes twice its size."""
    webhook_hosts: tuple[str, ...] = ()
    """Hosts that webhooks may call although they are not public or not https, separated by commas."""
    android_apps: tuple[str, ...] = ()
    """Android apps that show the phone's page as theirs: ``PACKAGE=SHA-256 of the signing certificate``, by commas."""
    email_host: str = ""
    """The mail server that alerts are sent through; blank: there is none."""
    email_port: Annotated[int, Meta(ge=1, le=65535)] = 587
    email_security: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection to it is encrypted: after it was begun, from its beginning, or not at all."""
    email_user: str = ""
    """Blank: it asks for none."""
    email_password: str = ""
    email_from: str = ""
    """Whom mails come from, as ``Coterie <coterie@fleet.example>``."""
    requests_per_minute: Annotated[int, Meta(ge=1)] = 1200
    """What the REST API answers to one person or token; to one address, in each process, four times as
    much, pages included."""
    device_requests_per_minute: Annotated[int, Meta(ge=1)] = 600
    """What the device API answers to one device in each process, over HTTP and sockets together."""
    check_ins_per_second: Annotated[int, Meta(ge=1)] = 200
    """Of idle devices, over all processes; a fleet that would send more is asked to check in less often."""
    credential_days: Annotated[int, Meta(ge=0)] = 365
    """After so many days at the latest a device takes another credential; 0: only when an operator orders it."""
    device_certificates: Literal["off", "offered", "required"] = "off"
    """Certificates for devices' connections (mutual TLS) beside their credentials: none; those that can take one are
    given one, and whoever shows one must be its device; or no credential opens the device API without its device's."""
    device_certificate_days: Annotated[int, Meta(ge=1, le=825)] = 30
    """How long one lasts; devices take the next when about a third is left."""
    client_cert_header: Annotated[str, Meta(pattern="^[A-Za-z0-9-]{1,64}$")] = "Client-Cert"
    """The header in which a trusted proxy passes on the certificate that a device has shown it."""
    device_ca_key: str = ""
    """Signs them. Scaled: the seed of an Ed25519 key, 64 hexadecimal digits; embedded makes one and keeps it. With
    `device_ca_certificate` the key of that, PEM."""
    device_ca_certificate: Path | None = None
    """File (PEM) with the certificate of an authority of one's own, then those that lead from it to its root; None: the
    platform's key signs its own."""
    tls_certificate: Path | None = None
    """File (PEM) with the server's certificate and those that lead to its root: the platform speaks https itself, and
    devices show it their certificates. Read again where it changes; None: a proxy does."""
    tls_key: Path | None = None
    """File (PEM) with its key; None: it is in the same file."""
    keep_versions: Annotated[int, Meta(ge=0)] = 100
    """The latest of each lineage that keep their parameters, besides those that something needs; 0: all do."""
    keep_every: Annotated[int, Meta(ge=0)] = 50
    """Versions whose number is a multiple of it keep theirs, too, as milestones; 0: no others do."""
    keep_history_days: Annotated[int, Meta(ge=0)] = 365
    """How long after its end that stays which only tells of the past (parts in rounds that delivered nothing,
    forecasts, what single devices reported of a version or a roll-out, logs of jobs), at least 30; 0: for ever."""
    quarantine_after: Annotated[int, Meta(ge=0)] = 3
    """Updates of a device that merges may leave out, of its latest ten, before it is put into quarantine; 0: any. One
    may be an accident, and a device that is left out goes on to cost its round a place."""
    s3_bucket: str = ""
    """Keeps models, data and updates in this bucket of an object storage that speaks S3 instead of the state
    directory, and processes share no file system. Needs ``coterie[s3]`` and scaled mode."""
    s3_prefix: str = ""
    """Begins the name of each object, where the bucket holds other things, too; no two platforms share one."""
    s3_endpoint: str = ""
    """URL of the object storage; blank: that of AWS."""
    s3_public_endpoint: str = ""
    """URL under which devices reach it, for presigned downloads; blank: the same."""
    s3_region: str = "us-east-1"
    s3_key_id: str = ""
    """Blank: what the AWS clients use, as the role of the machine."""
    s3_secret: str = ""
    downloads: Literal["platform", "presigned"] = "platform"
    """Whether devices read models through the platform, or from the object storage by URLs that last five minutes."""
    cluster_host: str = ""
    """Name of this machine among those that train, which workers of one machine share; blank: its host name."""
    cluster_rack: str = ""
    """Where it stands: gangs of workers are put on hosts of one rack before they are spread over several."""
    cluster_address: str = ""
    """Where workers on other hosts reach its own, in a network that nobody else is in; blank: they do not, and it takes
    gangs as a whole alone. Workers of a gang that is on several hosts are not cut off from that network."""
    cluster_places: Annotated[int, Meta(ge=0)] = 0
    """Workers of training jobs that it takes at a time; 0: as many as it has cores, and at least two."""
    cluster_quotas: tuple[str, ...] = ()
    """Places that teams have for themselves, as ``vision=8,speech=4``; whatever of it is idle is lent to the others."""
    simulations_at_once: Annotated[int, Meta(ge=0, le=1000)] = 1
    """Runs of simulated fleets that one worker process performs at a time, so that real rounds find its other threads
    idle; 0: none."""
    cluster_launcher: LauncherName = "here"
    """Who starts the workers of gangs that this machine leads: itself, with others of the cluster, or another
    scheduler, which has `cluster_places` for them."""
    cluster_shared: Path | None = None
    """Directory of jobs' checkpoints, which all processes of the platform and all workers see under the same path;
    blank: in the state directory."""
    cluster_image: str = ""
    """Of the pods that launcher kubernetes starts: the platform's image."""
    cluster_claim: str = ""
    """Persistent volume claim, of access mode ReadWriteMany, of `cluster_shared`, for launcher kubernetes."""
    cluster_sbatch: tuple[str, ...] = ()
    """More options of sbatch for launcher slurm, separated by commas: ``--partition=long,--account=vision``."""
    cluster_python: str = ""
    """The interpreter on SLURM's nodes that the platform is installed for; blank: the path of this one."""
    copies: tuple[Path, ...] = ()
    """Directories of backups, separated by commas, from which damaged files are replaced."""
    second_factor_for: tuple[Literal["viewer", "operator", "administrator"], ...] = ()
    """Roles that may not sign in with a password alone, separated by commas; who has no second factor sets it up."""
    oidc_issuer: str = ""
    """URL of an OpenID Connect provider that signs operators in; blank: none does. Needs ``coterie[oidc]``."""
    oidc_client_id: str = ""
    """What the provider calls this platform."""
    oidc_client_secret: str = ""
    oidc_label: str = "Single sign-on"
    """Of the link on the sign-in page."""
    oidc_role_claim: str = "groups"
    """The claim by which the provider tells what a person is."""
    oidc_administrators: tuple[str, ...] = ()
    """Values of that claim which make an administrator, separated by commas; ``*``: whoever the provider lets in."""
    oidc_operators: tuple[str, ...] = ()
    """The same of an operator."""
    oidc_viewers: tuple[str, ...] = ()
    """The same of a viewer."""
    log: Literal["text", "json"] = "text"
    """Lines of the log for people, or JSON objects for what collects logs."""
    metrics_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Where each process shows ``/metrics`` and ``/livez`` to whoever asks; 0: nowhere."""
    metrics_host: str = "127.0.0.1"
    """Address of that port. Whoever reaches it reads the figures: never the internet."""
    telemetry: Literal["off", "otlp"] = "off"
    """Send traces by OpenTelemetry's protocol over HTTP to where ``OTEL_EXPORTER_OTLP_ENDPOINT`` says; the standard
    ``OTEL_*`` variables hold here. Needs ``coterie[telemetry]``."""
    exporters: tuple[str, ...] = ()
    """Names of exporters that rounds, figures and versions go to, separated by commas: ``tensorboard``, ``mlflow``,
    ``wandb``, or those of installed packages."""
    tensorboard_dir: Path | None = None
    """Where event files go; by default ``tensorboard`` in the state directory."""
    mlflow_url: str = ""
    """Of the tracking server, as ``http://mlflow:5000``."""
    mlflow_token: str = ""
    """Shown as a bearer's; blank: none."""
    wandb_mode: Literal["online", "offline"] = "online"
    """Offline: runs of Weights & Biases are written, and nothing is sent. Needs ``coterie[wandb]``."""
    wandb_key: str = ""
    """Of Weights & Biases' API; offline needs none."""
    wandb_project: str = "coterie"
    wandb_entity: str = ""
    """Team or user that the project belongs to; blank: the key's own."""
    wandb_url: str = "https://api.wandb.ai"
    """Of a server of your own."""
    wandb_dir: Path | None = None
    """Where runs are written; by default ``wandb`` in the state directory."""
    debug: bool = False

    @classmethod
    def read(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Raises msgspec.ValidationError naming what does not fit, also for an unknown ``COTERIE_`` name."""
        given = {name.removeprefix(PREFIX).lower(): value for name, value in environ.items() if name.startswith(PREFIX)}
        for name in SECRETS & {name.removesuffix(IN_FILE) for name in given if name.endswith(IN_FILE)}:
            given[name] = _read_secret(name, given.pop(name + IN_FILE), already=name in given)
        unknown = sorted(set(given) - {field.name for field in msgspec.structs.fields(cls)})
        if unknown:
            raise msgspec.ValidationError(f"unknown variables: {', '.join(PREFIX + name.upper() for name in unknown)}")
        values: dict[str, object] = {**given}
        for name in LISTS & given.keys():
            values[name] = [item.strip() for item in given[name].split(",") if item.strip()]
        try:
            env = from_values(values, cls, strict=False, dec_hook=lambda kind, value: kind(value))
        except msgspec.ValidationError as error:
            raise _named(error) from error
        missing = [name for name in NEEDED_WHEN_SCALED if not getattr(env, name)]
        if env.mode == "scaled" and missing:
            raise msgspec.ValidationError(
                f"scaled mode needs {', '.join(PREFIX + name.upper() for name in missing)} as well"
            )
        env._check_servers()
        env._check_signing_key()
        env._check_addresses()
        env._check_object_storage()
        env._check_provider()
        env._check_mail()
        env._check_history()
        env._check_certificates()
        env._check_launcher()
        env.certificates_of_apps()
        env.quotas()
        return env

    def _check_signing_key(self) -> None:
        if re.fullmatch("([0-9A-Fa-f]{64})?", self.signing_key) is None:
            raise msgspec.ValidationError("COTERIE_SIGNING_KEY must be 64 hexadecimal digits")

    def _check_servers(self) -> None:
        broker = urlsplit(self.redis_url).scheme
        if self.redis_url and broker not in ("redis", "rediss"):
            raise msgspec.ValidationError("COTERIE_REDIS_URL must look like redis://host:port/db")
        place = urlsplit(self.database_url)
        if self.database_url and (place.scheme not in ("postgresql", "postgres") or not place.path.strip("/")):
            raise msgspec.ValidationError(
                "COTERIE_DATABASE_URL must look like postgresql://user:password@host:port/name"
            )

    def _check_addresses(self) -> None:
        place = urlsplit(self.public_url)
        if self.public_url and (place.scheme not in ("http", "https") or not place.hostname or place.path.strip("/")):
            raise msgspec.ValidationError("COTERIE_PUBLIC_URL must look like https://fleet.example")
        for network in self.trusted_proxies:
            try:
                ip_network(network)
            except ValueError as error:
                raise msgspec.ValidationError(f"COTERIE_TRUSTED_PROXIES: {error}") from error

    def _check_object_storage(self) -> None:
        if self.s3_bucket and self.mode != "scaled":
            raise msgspec.ValidationError("COTERIE_S3_BUCKET is for scaled mode; embedded mode keeps files")
        if bool(self.s3_key_id) != bool(self.s3_secret):
            raise msgspec.ValidationError("COTERIE_S3_KEY_ID and COTERIE_S3_SECRET belong together")
        if self.downloads == "presigned" and not self.s3_bucket:
            raise msgspec.ValidationError("COTERIE_DOWNLOADS=presigned needs COTERIE_S3_BUCKET")
        for name in ("s3_endpoint", "s3_public_endpoint"):
            url = getattr(self, name)
            if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
                raise msgspec.ValidationError(f"{PREFIX}{name.upper()} must look like https://s3.example")

    def _check_provider(self) -> None:
        if not self.oidc_issuer:
            return
        place = urlsplit(self.oidc_issuer)
        if place.scheme != "https" and not (place.scheme == "http" and place.hostname in ("127.0.0.1", "localhost")):
            raise msgspec.ValidationError("COTERIE_OIDC_ISSUER must be an https URL")
        if not self.oidc_client_id or not self.oidc_client_secret:
            raise msgspec.ValidationError(
                "COTERIE_OIDC_ISSUER needs COTERIE_OIDC_CLIENT_ID and COTERIE_OIDC_CLIENT_SECRET as well"
            )
        if not (self.oidc_administrators or self.oidc_operators or self.oidc_viewers):
            raise msgspec.ValidationError(
                "COTERIE_OIDC_ISSUER needs COTERIE_OIDC_ADMINISTRATORS, _OPERATORS or _VIEWERS, or nobody may in"
            )

    def certificates_of_apps(self) -> dict[str, str]:
        """By package, the fingerprint of the certificate that signs it. Raises msgspec.ValidationError."""
        found = {}
        for item in self.android_apps:
            package, _, fingerprint = (part.strip() for part in item.partition("="))
            if re.fullmatch(r"\w+(\.\w+)+", package) is None or re.fullmatch(FINGERPRINT, fingerprint) is None:
                raise msgspec.ValidationError(
                    "COTERIE_ANDROID_APPS must look like org.example.fleet=14:6D:E9:..., 32 pairs of hexadecimal digits"
                )
            found[package] = fingerprint.upper()
        return found

    def quotas(self) -> dict[str, int]:
        """Places by team. Raises msgspec.ValidationError."""
        found = {}
        for item in self.cluster_quotas:
            team, _, places = item.partition("=")
            if not team.strip() or not places.strip().isdecimal():
                raise msgspec.ValidationError("COTERIE_CLUSTER_QUOTAS must look like vision=8,speech=4")
            found[team.strip()] = int(places)
        return found

    def _check_launcher(self) -> None:
        if self.cluster_launcher == "here":
            return
        if self.cluster_shared is None or not self.cluster_places:
            raise msgspec.ValidationError("COTERIE_CLUSTER_LAUNCHER needs COTERIE_CLUSTER_SHARED and _PLACES as well")
        if self.cluster_address:
            raise msgspec.ValidationError(
                "COTERIE_CLUSTER_ADDRESS is of a host that trains itself; COTERIE_CLUSTER_LAUNCHER has others do that"
            )
        if self.cluster_launcher == "kubernetes" and not (self.cluster_image and self.cluster_claim):
            raise msgspec.ValidationError(
                "COTERIE_CLUSTER_LAUNCHER=kubernetes needs COTERIE_CLUSTER_IMAGE and COTERIE_CLUSTER_CLAIM as well"
            )

    def _check_certificates(self) -> None:
        if self.tls_key is not None and self.tls_certificate is None:
            raise msgspec.ValidationError("COTERIE_TLS_KEY needs COTERIE_TLS_CERTIFICATE as well")
        if self.device_ca_certificate is not None and "PRIVATE KEY" not in self.device_ca_key:
            raise msgspec.ValidationError("COTERIE_DEVICE_CA_CERTIFICATE needs COTERIE_DEVICE_CA_KEY, its key (PEM)")
        if self.device_ca_certificate is None and re.fullmatch("([0-9a-f]{64})?", self.device_ca_key) is None:
            raise msgspec.ValidationError("COTERIE_DEVICE_CA_KEY must be 64 hexadecimal digits")
        if self.mode == "scaled" and self.device_certificates != "off" and not self.device_ca_key:
            raise msgspec.ValidationError("COTERIE_DEVICE_CERTIFICATES needs COTERIE_DEVICE_CA_KEY in scaled mode")

    def _check_history(self) -> None:
        if 0 < self.keep_history_days < SHORTEST_HISTORY_DAYS:
            raise msgspec.ValidationError(
                f"COTERIE_KEEP_HISTORY_DAYS must be 0 or at least {SHORTEST_HISTORY_DAYS}: forecasts look back"
            )

    def _check_mail(self) -> None:
        if self.email_host and "@" not in self.email_from:
            raise msgspec.ValidationError("COTERIE_EMAIL_HOST needs COTERIE_EMAIL_FROM, an address, as well")
        if bool(self.email_user) != bool(self.email_password):
            raise msgspec.ValidationError("COTERIE_EMAIL_USER and COTERIE_EMAIL_PASSWORD belong together")


def _named(error: msgspec.ValidationError) -> msgspec.ValidationError:
    """`error`, which names a field, with the variable that sets it and, of a few words, those that it may be."""
    problem, _, place = str(error).partition(" - at `$.")
    field = re.split(r"\W", place, maxsplit=1)[0]
    choices = re.findall(r"'(\w+)'", str(get_type_hints(Env).get(field))) if "enum" in problem else []
    known = f"; it may be {' or '.join(choices)}" if choices else ""
    return msgspec.ValidationError(f"{PREFIX}{field.upper()}: {problem}{known}")


def _read_secret(name: str, file: str, *, already: bool) -> str:
    variable = PREFIX + name.upper()
    if already:
        raise msgspec.ValidationError(f"{variable} and {variable}_FILE are both set")
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise msgspec.ValidationError(f"{variable}_FILE: {error}") from error


def child_environment(**overrides: str) -> dict[str, str]:
    """This process's environment for one that it starts, with fields of `Env` set anew.

    Also its import path, which `manage.py` extends on a source checkout.
    """
    given = {PREFIX + name.upper(): value for name, value in overrides.items()}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **given}
