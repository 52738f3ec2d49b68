"""What can go wrong with backups."""

from coterie.core.errors import CoterieError, ErrorKind


class NotABackup(CoterieError):
    """Fields: directory."""

    code = "backup.not_a_backup"
    kind = ErrorKind.CONFLICT
    sentence = "{directory} holds something else than a backup; name an empty directory, or one that holds a backup."


class Incomplete(CoterieError):
    """Fields: directory."""

    code = "backup.incomplete"
    kind = ErrorKind.CONFLICT
    sentence = "The backup in {directory} was broken off before it was whole; repeat `coterie backup`, which goes on."


class BackupInUse(CoterieError):
    """Fields: directory."""

    code = "backup.in_use"
    kind = ErrorKind.CONFLICT
    sentence = "Another backup is being made in {directory}; wait for it or choose another directory."


class UnknownFormat(CoterieError):
    """Fields: directory."""

    code = "backup.unknown_format"
    kind = ErrorKind.CONFLICT
    sentence = "This version of Coterie cannot read the index of the backup in {directory}; use the one that made it."


class NewerBackup(CoterieError):
    """Fields: changes."""

    code = "backup.newer_schema"
    kind = ErrorKind.CONFLICT
    sentence = (
        "The backup was made by a newer version of Coterie: install that version; its tables have changes that this "
        "one does not know: {changes}."
    )


class OlderBackup(CoterieError):
    """Fields: changes."""

    code = "backup.older_schema"
    kind = ErrorKind.CONFLICT
    sentence = (
        "The backup was made by a version of Coterie whose tables this one cannot bring up to date: restore it with "
        "the last version that knows by name what they lack, start that once, and then this one; they lack {changes}."
    )


class OtherMode(CoterieError):
    """Fields: made_in, mode."""

    code = "backup.other_mode"
    kind = ErrorKind.CONFLICT
    sentence = "The backup is of a platform in {made_in} mode and cannot become one in {mode} mode; set COTERIE_MODE."


class DamagedBackup(CoterieError):
    """Fields: file."""

    code = "backup.damaged"
    kind = ErrorKind.CONFLICT
    sentence = "{file} of the backup is missing or no longer what was copied; restore from another backup."


class StateExists(CoterieError):
    """Fields: directory."""

    code = "backup.state_exists"
    kind = ErrorKind.CONFLICT
    sentence = "{directory} is not empty; a backup becomes a platform in a directory of its own: name it with --state."


class DatabaseNotEmpty(CoterieError):
    """Fields: database."""

    code = "backup.database_not_empty"
    kind = ErrorKind.CONFLICT
    sentence = "The database {database} has tables; restore into an empty one."


class DatabaseFailed(CoterieError):
    """Fields: problem."""

    code = "backup.database_failed"
    kind = ErrorKind.UNAVAILABLE
    sentence = "The database could not be copied: {problem}"
