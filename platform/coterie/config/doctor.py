"""Checks of a platform, as a support engineer would make first: each returns its findings."""

import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

import redis
from cryptography import x509
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from coterie.accounts.models import Operator
from coterie.child.trial_job import try_confinement
from coterie.cluster.this_host import detect_gpus
from coterie.config.schema import OtherSchema, changes_to_make, refuse_other, refuse_unfinished
from coterie.config.tls import ServerTls
from coterie.core.errors import CoterieError
from coterie.core.identity import verify_key
from coterie.core.scheduler_heartbeat import NO_WORKER, is_late, no_worker
from coterie.fleet.authority import present_authority
from coterie.fleet.certificates import has_certificate
from coterie.fleet.selectors import enrolled_devices
from coterie.fleet.signing_keys import Succession, refusing
from coterie.registry.models import Blob
from coterie.registry.verifying import is_elsewhere
from coterie.storage.interface import store_of
from coterie.storage.watching import why_unfit

State = Literal["fine", "warning", "wrong"]
FREE_BYTES = 2 << 30
RENEWED_BEFORE = timedelta(days=7)
"""A certificate of the server that ends sooner was not renewed in time."""
CLOCKS_APART = timedelta(seconds=5)
DESCRIPTORS = 11_000
"""For ten thousand sockets."""


class Finding(NamedTuple):
    """The result of one check."""

    about: str
    state: State
    says: str


def examine() -> Iterator[Finding]:
    """Run all checks, one after the other; one that fails does not stop the others.

    What reads the database is not looked at where it does not answer: each would wait for it again.
    """
    answers = True
    for about, check in CHECKS.items():
        try:
            if about in ON_TABLES and not answers:
                yield Finding(about, "warning", "was not looked at, since the database does not answer")
                continue
            if about in ON_ROWS and not _tables_are_ours():
                yield Finding(about, "warning", "was not looked at, since the tables are not those of this version")
                continue
            for state, says in check():
                yield Finding(about, state, says)
        except (DatabaseError, InterfaceError, redis.RedisError, CoterieError, OSError, ValueError) as error:
            answers = answers and about != "database"
            yield Finding(about, "wrong", _sentence(error))


def _sentence(error: Exception) -> str:
    """What went wrong, for people; where nobody said, the class of the error."""
    if isinstance(error, CoterieError):
        return f"{error} [{error.code}]"
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error).strip() or type(error).__name__


Told = Iterator[tuple[State, str]]


def _settings() -> Told:
    yield "fine", f"{'embedded' if settings.EMBEDDED else 'scaled'} mode, state in {settings.STATE}"
    if settings.DEBUG:
        yield "wrong", "COTERIE_DEBUG is on: strangers are shown the inside of errors"
    if not settings.PUBLIC_HTTPS and settings.TLS_CERTIFICATE is None:
        yield "warning", "COTERIE_PUBLIC_URL is not https: what devices and people send can be read on the way"
    elif not settings.TRUSTED_PROXIES and settings.TLS_CERTIFICATE is None:
        yield "warning", "COTERIE_TRUSTED_PROXIES is empty: all clients behind a proxy count as one address"


def _database() -> Told:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CURRENT_TIMESTAMP")
        (then,) = cursor.fetchone()
    yield "fine", f"{connection.vendor} answers"
    if isinstance(then, datetime) and abs(then - datetime.now(UTC)) > CLOCKS_APART:
        yield "wrong", f"its clock and this machine's are {abs(then - datetime.now(UTC)).total_seconds():.0f} s apart"
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SHOW autovacuum")
            if cursor.fetchone() != ("on",):
                yield "warning", "PostgreSQL's autovacuum is off: tables whose rows change grow for ever, and slow down"


def _tables() -> Told:
    try:
        refuse_other()
    except OtherSchema as error:
        yield "wrong", str(error)
        return
    if to_make := changes_to_make():
        yield "wrong", f"{len(to_make)} changes are to be made: coterie migrate"
    else:
        yield "fine", "the tables are those of this version"
        if not Operator.objects.exists():
            yield "warning", "nobody can sign in: coterie createsuperuser"


def _tables_are_ours() -> bool:
    try:
        refuse_unfinished()
    except OtherSchema:
        return False
    return True


def _history() -> Told:
    if settings.KEEP_HISTORY_DAYS:
        yield "fine", f"what only tells of the past goes {settings.KEEP_HISTORY_DAYS} days after its end"
    else:
        yield "warning", "COTERIE_KEEP_HISTORY_DAYS is 0: what only tells of the past stays, and tables grow for ever"


def _broker() -> Told:
    if settings.EMBEDDED:
        yield "fine", "embedded mode has none"
        return
    with redis.Redis.from_url(settings.CELERY_BROKER_URL, socket_timeout=5, socket_connect_timeout=5) as client:
        client.ping()
        yield "fine", "Redis answers"
        policy = client.config_get("maxmemory-policy").get("maxmemory-policy", "")
        if policy not in ("noeviction", ""):
            yield "wrong", f"Redis' maxmemory-policy is {policy}, so that it drops tasks; it must be noeviction"


def _storage() -> Told:
    if _tables_are_ours() and is_elsewhere():  # a running platform would take what is written there for its files
        yield "warning", "was not tried, since none of the platform's files is there"
        return
    store = store_of("default")
    if (problem := why_unfit(store)) is not None:
        yield "wrong", problem
    else:
        yield "fine", f"{store} keeps files, refuses to overwrite them, reads and deletes them"


def _periodic_work() -> Told:
    late = is_late(datetime.now(UTC))
    if late and settings.EMBEDDED:
        yield "fine", "not to be seen from here: embedded mode keeps the sign in the server's memory"
    elif late:
        yield "wrong", "no beat has left a sign in Redis for half a minute: is one running, and does Redis answer?"
    elif not settings.EMBEDDED and no_worker(datetime.now(UTC)):
        yield "wrong", f"is being sent, and {NO_WORKER}"
    else:
        yield "fine", "is being sent and done"


def _signing_key() -> Told:
    yield "fine", f"devices pin the signing key whose public half is {verify_key().hex()[:16]}…"
    lost = refusing().exclude(trusted_key__in=Succession().former_keys())
    if one := lost.order_by("-enrolled_at").first():
        yield (
            "wrong",
            f"{lost.count()} devices refuse it, the last trusts {one.trusted_key[:16]}…: put that back",
        )


def _certificates() -> Told:
    if settings.DEVICE_CERTIFICATES == "off":
        yield "fine", "devices have none: their credentials alone are asked for"
        return
    now = datetime.now(UTC)
    authority = present_authority(now=now).chain[0]
    yield "fine", f"signed by {authority.subject.rfc4514_string()} until {authority.not_valid_after_utc:%F}"
    if authority.not_valid_after_utc < now + timedelta(days=settings.DEVICE_CERTIFICATE_DAYS):
        yield "wrong", "devices' certificates would outlast that of what signs them: replace it"
    if settings.TLS_CERTIFICATE is None and not settings.TRUSTED_PROXIES:
        yield "wrong", "nobody can show one: COTERIE_TRUSTED_PROXIES is empty, and COTERIE_TLS_CERTIFICATE is not set"
    enrolled = enrolled_devices()
    without = enrolled.exclude(has_certificate()).count()
    ended = enrolled.filter(certificate_until__lte=now).count()
    if not without and not ended:
        yield "fine", "every enrolled device has one"
    elif settings.DEVICE_CERTIFICATES == "required":
        yield "warning", f"{without} enrolled devices were given none and are refused; those of {ended} have ended"
    else:
        yield "fine", f"{without} enrolled devices were given none; those of {ended} have ended"


def _tls() -> Told:
    if settings.TLS_CERTIFICATE is None:
        yield "fine", "the platform speaks plain HTTP; whatever is in front of it ends TLS"
        return
    ServerTls(settings.TLS_CERTIFICATE, settings.TLS_KEY)
    shown = x509.load_pem_x509_certificates(settings.TLS_CERTIFICATE.read_bytes())[0]
    until = shown.not_valid_after_utc
    yield "fine", f"{settings.TLS_CERTIFICATE} and its key can be used"
    if until < datetime.now(UTC) + RENEWED_BEFORE:
        yield "wrong" if until < datetime.now(UTC) else "warning", f"its certificate ends on {until:%F}: renew it"


def _single_sign_on() -> Told:
    if settings.SINGLE_SIGN_ON is None:
        yield "fine", "no provider is set: operators sign in with passwords and links"
        return
    from coterie.accounts.openid import answers  # needs coterie[oidc]

    answers(settings.SINGLE_SIGN_ON)
    yield "fine", f"{settings.SINGLE_SIGN_ON.issuer} answers"


def _files() -> Told:
    damaged = Blob.objects.filter(removed_at=None, damaged_at__isnull=False).count()
    kept = Blob.objects.filter(removed_at=None).count()
    if is_elsewhere():
        yield "wrong", f"none of {kept} is in {settings.STATE}: is the shared directory mounted?"
    elif damaged:
        yield "wrong", f"{damaged} of {kept} are damaged and have no copy: coterie scrub"
    else:
        yield "fine", f"none of {kept} is known to be damaged"


def _room() -> Told:
    for directory in dict.fromkeys((Path(settings.STATE), Path(tempfile.gettempdir()))):
        free = shutil.disk_usage(directory).free
        state: State = "fine" if free >= FREE_BYTES else "warning"
        yield state, f"{free / 1e9:.1f} GB free in {directory}"
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < DESCRIPTORS:
        yield "warning", f"{most} open files at most; ten thousand sockets need {DESCRIPTORS} (LimitNOFILE=)"


def _confinement() -> Told:
    missing = try_confinement()
    for each in missing:
        yield "warning", f"programs of others run without {each}"
    if not missing:
        yield "fine", "jobs on programs of others reach no network, no socket and no file but their own"


def _gpus() -> Told:
    found = detect_gpus()
    if found.problem:
        yield "warning", f"trainings here compute on cores. {found.problem}"
    else:
        yield "fine", f"trainings here can compute on {found.usable} GPUs"


CHECKS: dict[str, Callable[[], Told]] = {
    "settings": _settings,
    "database": _database,
    "tables": _tables,
    "history": _history,
    "broker": _broker,
    "storage": _storage,
    "periodic work": _periodic_work,
    "signing key": _signing_key,
    "devices' certificates": _certificates,
    "TLS": _tls,
    "single sign-on": _single_sign_on,
    "stored files": _files,
    "room": _room,
    "confinement": _confinement,
    "gpus": _gpus,
}
ON_ROWS = {"signing key", "devices' certificates", "stored files"}
"""Checks that read the platform's tables."""
ON_TABLES = {"tables", "storage", *ON_ROWS}
"""Checks that begin by asking the database."""
