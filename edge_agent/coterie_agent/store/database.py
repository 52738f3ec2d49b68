"""The SQLite file: its schema, its durability, and transactions."""

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.renaming import with_reported
from coterie_agent.store.sealing import teach_sqlite

_PATIENCE_S = 60.0
"""How long to wait while another process writes."""
_FIRST = """
CREATE TABLE identity (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    url TEXT NOT NULL, device TEXT NOT NULL, name TEXT NOT NULL, platform_key BLOB NOT NULL, check_in_s REAL NOT NULL
);
CREATE TABLE sample (id INTEGER PRIMARY KEY AUTOINCREMENT, x BLOB NOT NULL, label INTEGER NOT NULL);
CREATE TABLE label_count (label INTEGER PRIMARY KEY, samples INTEGER NOT NULL);
CREATE TRIGGER sample_added AFTER INSERT ON sample BEGIN
    INSERT INTO label_count VALUES (NEW.label, 1) ON CONFLICT (label) DO UPDATE SET samples = samples + 1;
END;
CREATE TRIGGER sample_dropped AFTER DELETE ON sample BEGIN
    UPDATE label_count SET samples = samples - 1 WHERE label = OLD.label;
END;
CREATE TABLE held_model (one INTEGER PRIMARY KEY CHECK (one = 1), signed BLOB NOT NULL);
CREATE TABLE work (one INTEGER PRIMARY KEY CHECK (one = 1), assignment TEXT NOT NULL, message BLOB NOT NULL);
CREATE TABLE checkpoint (one INTEGER PRIMARY KEY CHECK (one = 1), progress BLOB NOT NULL, tensors BLOB NOT NULL);
CREATE TABLE spool (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    pair TEXT NOT NULL, offer BLOB NOT NULL, payload BLOB NOT NULL, residual BLOB NOT NULL
);
CREATE TABLE residual (pair TEXT PRIMARY KEY, tensors BLOB NOT NULL);
CREATE TABLE finished (assignment TEXT PRIMARY KEY, outcome TEXT NOT NULL, sentence TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE measured (name TEXT PRIMARY KEY, value REAL NOT NULL);
CREATE TABLE status (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL);
CREATE TABLE sent (
    day TEXT NOT NULL, what TEXT NOT NULL, messages INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (day, what)
);
"""
_COMPANY = """
CREATE TABLE personal_model (
    one INTEGER PRIMARY KEY CHECK (one = 1), base TEXT NOT NULL, edition INTEGER NOT NULL, tensors BLOB NOT NULL
);
CREATE TABLE peers (name TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE kept_portion (transfer TEXT PRIMARY KEY, content BLOB NOT NULL, payload BLOB NOT NULL, assignment TEXT);
CREATE TABLE helped (name TEXT PRIMARY KEY, outcome TEXT NOT NULL, sentence TEXT NOT NULL, at REAL NOT NULL);
"""
_TEACHING = """
ALTER TABLE sample ADD COLUMN at REAL NOT NULL DEFAULT 0;
UPDATE sample SET at = CAST(strftime('%s', 'now') AS REAL);
CREATE INDEX sample_at ON sample (at);
CREATE TABLE said (version TEXT NOT NULL, sample INTEGER NOT NULL, word BLOB NOT NULL, PRIMARY KEY (version, sample));
CREATE TRIGGER sample_gone AFTER DELETE ON sample BEGIN
    DELETE FROM said WHERE sample = OLD.id;
END;
CREATE INDEX said_of_sample ON said (sample);
DELETE FROM checkpoint;
ALTER TABLE checkpoint ADD COLUMN best BLOB;
"""
_TARGETS = """
ALTER TABLE sample ADD COLUMN target BLOB NOT NULL DEFAULT x'';
"""
_FORMER = """
CREATE TABLE former_personal_model (one INTEGER PRIMARY KEY CHECK (one = 1), base TEXT NOT NULL, tensors BLOB NOT NULL);
"""
_STATES = """
CREATE TABLE device_state (
    federation TEXT NOT NULL, slot TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (federation, slot)
);
CREATE TABLE spooled_state (
    federation TEXT NOT NULL, slot TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (federation, slot)
);
DROP TABLE residual;
DROP TABLE spool;
CREATE TABLE spool (
    one INTEGER PRIMARY KEY CHECK (one = 1), offer BLOB NOT NULL, federation TEXT NOT NULL, payload BLOB NOT NULL
);
DELETE FROM checkpoint;
ALTER TABLE checkpoint ADD COLUMN client BLOB NOT NULL DEFAULT x'';
DROP TRIGGER sample_gone;
DROP INDEX said_of_sample;
DROP TABLE said;
CREATE TABLE teacher_probabilities (
    version TEXT NOT NULL, sample INTEGER NOT NULL, probabilities BLOB NOT NULL, PRIMARY KEY (version, sample)
);
CREATE TRIGGER sample_gone AFTER DELETE ON sample BEGIN
    DELETE FROM teacher_probabilities WHERE sample = OLD.id;
END;
CREATE INDEX teacher_probabilities_of_sample ON teacher_probabilities (sample);
"""
"""An unsent update is trained again: its residual is not stored by federation. Teachers are evaluated again."""
_SEALED = {
    "identity": "url, device, name, platform_key, check_in_s",
    "sample": "id, x, label, target, at",
    "label_count": "label, samples",
    "work": "assignment, message",
    "checkpoint": "progress, tensors, best, client",
    "spool": "offer, federation",
    "personal_model": "base, edition, tensors",
    "former_personal_model": "base, tensors",
    "peers": "name, content",
    "kept_portion": "transfer, content, payload",
    "teacher_probabilities": "version, sample, probabilities",
    "measured": "name, value",
}
"""By table, the columns that a row's seal covers. Manifests are signed, and device states contain their own hash."""
_COUNTED = """
DROP TRIGGER sample_added;
DROP TRIGGER sample_dropped;
CREATE TRIGGER sample_added AFTER INSERT ON sample BEGIN
    INSERT INTO label_count VALUES (NEW.label, 1, seal(NEW.label, 1))
    ON CONFLICT (label) DO UPDATE SET samples = samples + 1, seal = seal(label, samples + 1);
END;
CREATE TRIGGER sample_dropped AFTER DELETE ON sample BEGIN
    UPDATE label_count SET samples = samples - 1, seal = seal(label, samples - 1) WHERE label = OLD.label;
END;
"""
_SEALS = "".join(
    f"ALTER TABLE {table} ADD COLUMN seal BLOB;\nUPDATE {table} SET seal = seal({columns});\n"
    for table, columns in _SEALED.items()
)
_SUMS = """
CREATE TABLE masking (one INTEGER PRIMARY KEY CHECK (one = 1), is_masked INTEGER NOT NULL, seal BLOB);
CREATE TABLE secure_sum (
    one INTEGER PRIMARY KEY CHECK (one = 1), assignment TEXT NOT NULL, state BLOB NOT NULL, offer BLOB, seal BLOB
);
CREATE TABLE masked_vector (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL);
"""
_LOG = """
CREATE TABLE identity_log (
    position INTEGER PRIMARY KEY, device TEXT NOT NULL UNIQUE, identity BLOB NOT NULL, head BLOB NOT NULL
);
"""
_STREAMS = """
CREATE TABLE stream_part (
    assignment TEXT PRIMARY KEY, federation TEXT NOT NULL, apart INTEGER NOT NULL, number INTEGER NOT NULL, seal BLOB
);
"""
_MEETINGS = """
CREATE TABLE meeting (
    one INTEGER PRIMARY KEY CHECK (one = 1), progress BLOB NOT NULL, difference BLOB NOT NULL, seal BLOB
);
"""
_SERVING = """
CREATE TABLE serving (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL);
CREATE TABLE variants (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL, seal BLOB);
"""
_KEYS = """
CREATE TABLE former_platform_key (position INTEGER PRIMARY KEY, key BLOB NOT NULL, until REAL NOT NULL, seal BLOB);
"""
_REPORTED = """
UPDATE peers SET content = with_reported(content), seal = seal(name, with_reported(content))
WHERE name IN ('reading', 'tuned') AND seal = seal(name, content);
"""
_QUESTIONS = """
CREATE TABLE question_sum (
    one INTEGER PRIMARY KEY CHECK (one = 1), assignment TEXT NOT NULL, state BLOB NOT NULL, offer BLOB, seal BLOB
);
CREATE TABLE question_vector (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL);
CREATE TABLE question (
    answer TEXT PRIMARY KEY, outcome TEXT NOT NULL, sentence TEXT NOT NULL, federation TEXT NOT NULL,
    question TEXT NOT NULL, at REAL NOT NULL
);
CREATE TABLE told (
    release TEXT PRIMARY KEY, federation TEXT NOT NULL, mu2 REAL NOT NULL, at REAL NOT NULL, seal BLOB
);
"""
_EVALUATING = """
CREATE TABLE evaluating (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL, seal BLOB);
CREATE TABLE shadow (
    one INTEGER PRIMARY KEY CHECK (one = 1), shadow BLOB NOT NULL, beside BLOB NOT NULL, seal BLOB
);
CREATE TABLE latency (
    pair TEXT NOT NULL, work TEXT NOT NULL, form TEXT NOT NULL, charging TEXT NOT NULL,
    content BLOB NOT NULL, seal BLOB,
    PRIMARY KEY (pair, work, form, charging)
);
"""
_CHOICES = """
CREATE TABLE choices (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL, seal BLOB);
"""
_ALLIANCES = """
CREATE TABLE alliance (
    alliance TEXT PRIMARY KEY, partner BLOB NOT NULL, content BLOB NOT NULL, secret BLOB NOT NULL, seal BLOB
);
CREATE TABLE alliance_standing (
    alliance TEXT PRIMARY KEY, party BLOB NOT NULL, tensors BLOB NOT NULL, received INTEGER NOT NULL,
    sent INTEGER NOT NULL, seal BLOB
);
CREATE TABLE alliance_letter (
    alliance TEXT NOT NULL, number INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (alliance, number)
);
"""
_LABELS = """
CREATE TABLE unlabelled (
    id INTEGER PRIMARY KEY AUTOINCREMENT, x BLOB NOT NULL, shown TEXT NOT NULL, at REAL NOT NULL, seal BLOB
);
CREATE TABLE labelling (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL, seal BLOB);
CREATE TABLE label_source (sample INTEGER PRIMARY KEY, kind TEXT NOT NULL, shown TEXT NOT NULL);
CREATE TRIGGER label_source_gone AFTER DELETE ON sample BEGIN
    DELETE FROM label_source WHERE sample = OLD.id;
END;
"""
_NEIGHBOURS = """
CREATE TABLE peer_ticket (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL, seal BLOB);
CREATE TABLE address_record (
    device TEXT PRIMARY KEY, record BLOB NOT NULL, found TEXT NOT NULL, expires_at REAL NOT NULL, seal BLOB
);
"""
_PROMISES = """
CREATE TABLE promise (
    federation TEXT NOT NULL, agreed INTEGER NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL, seal BLOB,
    PRIMARY KEY (federation, agreed)
);
"""
_PREDICTED = """
CREATE TABLE predicted (id INTEGER PRIMARY KEY AUTOINCREMENT, content BLOB NOT NULL, seal BLOB);
"""
_PLATFORM_ANSWERS = """
CREATE TABLE platform_offer (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL, seal BLOB);
"""
_VISITS = """
CREATE TABLE visit (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL, seal BLOB);
"""
_ISLAND = """
CREATE TABLE island (
    one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL, lead BLOB NOT NULL, state BLOB NOT NULL,
    may_vote INTEGER NOT NULL, seal BLOB
);
"""
_LOG_END = """
CREATE TABLE identity_log_end (
    one INTEGER PRIMARY KEY CHECK (one = 1), length INTEGER NOT NULL, head BLOB NOT NULL, seal BLOB
);
INSERT INTO identity_log_end
SELECT 1, position, head, seal(position, head) FROM identity_log ORDER BY position DESC LIMIT 1;
"""
_PHONES = """
CREATE TABLE page_link (one INTEGER PRIMARY KEY CHECK (one = 1), secret BLOB NOT NULL, until REAL NOT NULL);
CREATE TABLE phone (key BLOB PRIMARY KEY, until REAL NOT NULL);
"""
_AGREEMENTS = """
CREATE TABLE agreement (edition INTEGER PRIMARY KEY AUTOINCREMENT, content BLOB NOT NULL, seal BLOB);
CREATE TABLE agreement_asked (federation TEXT PRIMARY KEY, scopes BLOB NOT NULL, seal BLOB);
INSERT INTO agreement (content) SELECT CAST(
    '{"at":' || strftime('%s', 'now') || ',"how":"before","scopes":["readable","noised","summed","help"],'
    || '"read":"The device joined before agreements were kept, and goes on as before: in every plan of its platform."}'
    AS BLOB) FROM identity;
UPDATE agreement SET seal = seal(content);
"""
"""A device that has joined already continues as before; the first edition tells its owner so."""
_LOG_REQUESTS = """
CREATE TABLE log_request (
    request TEXT PRIMARY KEY, hours INTEGER NOT NULL, why TEXT NOT NULL, keep_days INTEGER NOT NULL,
    asked_at REAL NOT NULL, word TEXT NOT NULL, outcome TEXT NOT NULL, ended_at REAL, lines INTEGER NOT NULL,
    bytes INTEGER NOT NULL, seal BLOB
);
"""
_EXCLUSIONS = """
CREATE TABLE exclusions (one INTEGER PRIMARY KEY CHECK (one = 1), content BLOB NOT NULL, seal BLOB);
"""
_AGEING = """
ALTER TABLE latency ADD COLUMN measured_at REAL NOT NULL DEFAULT 0;
ALTER TABLE latency ADD COLUMN halved_at REAL NOT NULL DEFAULT 0;
"""
_NAMED_ROUNDS = """
ALTER TABLE finished ADD COLUMN federation TEXT NOT NULL DEFAULT '';
ALTER TABLE finished ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
"""
_SCHEMAS = (
    _FIRST,
    _COMPANY,
    _TEACHING,
    _TARGETS,
    _FORMER,
    _STATES,
    _SEALS + _COUNTED,
    _SUMS + _LOG + _STREAMS,
    _MEETINGS + _SERVING,
    _KEYS,
    _QUESTIONS,
    _EVALUATING,
    _CHOICES,
    _REPORTED,
    _ALLIANCES,
    _LABELS,
    _NEIGHBOURS,
    _PROMISES,
    _PREDICTED,
    _PLATFORM_ANSWERS,
    _VISITS,
    _ISLAND,
    _LOG_END,
    _PHONES,
    _AGREEMENTS,
    _LOG_REQUESTS,
    _EXCLUSIONS,
    _AGEING,
    _NAMED_ROUNDS,
)
"""The statements by which each schema version extends the one before."""
SCHEMA_VERSION = len(_SCHEMAS)


class StoreFailed(AgentError):
    """The file cannot be read or written, as it is damaged or closed. Nothing that was acknowledged is lost."""


class StoreFull(StoreFailed):
    """The file cannot grow, as the disk is full; it can still be read."""

    def __init__(self, path: Path) -> None:
        super().__init__("store.full", f"the disk is full, so {path} takes nothing more; make room on the device")


class StoreReadOnly(StoreFailed):
    """The file system is read-only, as Linux mounts one whose medium fails; SQLite then cannot even read."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            "store.read_only",
            f"{path} cannot be used, as its disk is mounted read-only; the system does so when a disk or flash memory "
            "fails. Look into it, and start the device again",
        )


class StoreDamaged(StoreFailed):
    """The file is damaged and cannot be used at all."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            "store.damaged",
            f"the store {path} is damaged ({problem}); move it away and join again, and give the device its samples "
            "anew. Look into its flash memory or disk",
            exit_code=Exit.STORE_DAMAGED,
        )


_NO_DAMAGE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
    }
)
"""SQLite's errors on an undamaged file; any other means damage, as our statements are always the same."""
_OF_DISK = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
_LEAST_FREE_BYTES = 64 << 10
"""Room for the index of the write-ahead log."""


class Database:
    """One connection, shared by the threads of a process.

    `durability`: "power" commits to the disk itself, "process" leaves the time of writing to the operating system;
    both keep the file consistent. Opening creates the file. Raises StoreFailed, or AgentError ``store.schema``.
    """

    def __init__(self, path: Path, *, durability: Literal["power", "process"] = "power") -> None:
        self._path = path
        self._lock = threading.RLock()
        with self._failing():
            self._connection = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
            teach_sqlite(self._connection)
            self._connection.execute("PRAGMA trusted_schema = ON")  # triggers call it
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
            self._connection.execute("PRAGMA cache_size = -256")  # KiB
            self._connection.execute("PRAGMA journal_size_limit = 4194304")
        self._create()

    def _create(self) -> None:
        if self._version() == SCHEMA_VERSION:
            return  # without a lock, so that reading the status never waits
        with self.transaction() as cursor:
            self._connection.create_function("with_reported", 1, with_reported, deterministic=True)
            version = self._version()
            if version > SCHEMA_VERSION:
                found = f"{self._path} was written by a newer agent (schema {version}, this one reads {SCHEMA_VERSION})"
                raise AgentError("store.schema", f"{found}; install that agent, or a newer one")
            for schema in _SCHEMAS[version:]:
                for statement in _statements(schema):
                    cursor.execute(statement)
            cursor.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _version(self) -> int:
        with self.reading() as cursor:
            (version,) = cursor.execute("PRAGMA user_version").fetchone()
        return int(version)

    @contextmanager
    def transaction(self, *, staging: bool = False) -> Iterator[sqlite3.Cursor]:
        """A write transaction: all of it, or nothing when the block raises.

        With `staging` it writes only to temporary tables, and other processes can write to the store meanwhile.
        Raises StoreFailed.
        """
        with self._lock, self._failing():
            self._connection.execute("BEGIN" if staging else "BEGIN IMMEDIATE")
            try:
                # Closed before the end: a statement interrupted by a full disk would keep its tables locked.
                with closing(self._connection.cursor()) as cursor:
                    yield cursor
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk may have ended it already
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Cursor]:
        """A cursor for single statements that only read. Raises StoreFailed."""
        with self._lock, self._failing(), closing(self._connection.cursor()) as cursor:
            yield cursor

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:  # not every error has a code
                raise StoreFull(self._path) from error
            if _is_damage(error):
                raise StoreDamaged(self._path, str(error)) from error
            failure = failure_of_disk(self._path, error, os.statvfs(self._path.parent))
            if failure is not None:
                raise failure from error
            raise StoreFailed("store.failed", f"the store {self._path} cannot be used: {error}") from error
        except UnicodeDecodeError as error:  # of a message that quotes a damaged schema
            raise StoreDamaged(self._path, str(error)) from error


def failure_of_disk(path: Path, error: sqlite3.Error, disk: os.statvfs_result) -> StoreFailed | None:
    """The failure of the `disk` that holds `path` behind SQLite's `error`; None: the disk does not explain it.

    Opening a store writes files beside it, and SQLite reports any failure there as an I/O error or as a file that
    cannot be opened.
    """
    if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _OF_DISK:
        return None
    if disk.f_flag & os.ST_RDONLY:
        return StoreReadOnly(path)
    return StoreFull(path) if disk.f_bavail * disk.f_frsize < _LEAST_FREE_BYTES else None


def failure_of_file(home: Path, error: OSError) -> AgentError | None:
    """What `error` at a file below `home` means for the owner; None: it was met elsewhere, and no disk explains it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(home)
    if error.errno == errno.EROFS:
        return StoreReadOnly(home)
    met = error.filename if error.filename2 is None else error.filename2  # the new name, of a renaming
    if met is None or not Path(str(met)).is_relative_to(home):
        return None
    detail = f"{met}: {error.strerror}; only the agent writes there: move it away, or run the agent as its owner"
    return AgentError("agent.bad_home", detail)


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return "decode to UTF-8" in str(error)
    return code & 0xFF not in _NO_DAMAGE  # the higher bits are the extended error code


def _statements(script: str) -> Iterator[str]:
    """The statements of `script`; ``executescript`` would commit the transaction that creates them together."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
