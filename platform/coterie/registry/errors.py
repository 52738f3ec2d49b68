"""What can go wrong with pairs, versions and data sets."""

from coterie.core.errors import CoterieError, ErrorKind


class UnknownBlob(CoterieError):
    """Fields: sha256."""

    code = "registry.unknown_blob"
    kind = ErrorKind.NOT_FOUND
    sentence = "There is no blob {sha256} that a device may read."


class BlobRemoved(CoterieError):
    """Fields: sha256."""

    code = "registry.blob_removed"
    kind = ErrorKind.GONE
    sentence = "Blob {sha256} was removed, since nothing needed it."


class BlobDamaged(CoterieError):
    """Fields: sha256."""

    code = "registry.blob_damaged"
    kind = ErrorKind.UNAVAILABLE
    sentence = (
        "Blob {sha256} is lost or no longer what was stored, and no copy of it was found; name a backup in "
        "COTERIE_COPIES, or put the file back."
    )


class UnknownVersion(CoterieError):
    """Fields: version."""

    code = "registry.unknown_version"
    kind = ErrorKind.NOT_FOUND
    sentence = "The pair has no version {version}."


class NothingToRollBackTo(CoterieError):
    """Fields: pair."""

    code = "registry.nothing_to_roll_back_to"
    kind = ErrorKind.CONFLICT
    sentence = "The champion of {pair} has no version before it."


class NameTaken(CoterieError):
    """Fields: slug."""

    code = "registry.name_taken"
    kind = ErrorKind.CONFLICT
    sentence = "There is a pair called {slug} already; choose another name."


class PairStillUsed(CoterieError):
    """Fields: pair, federation."""

    code = "registry.pair_still_used"
    kind = ErrorKind.CONFLICT
    sentence = "Pair {pair} is that of federation {federation}, so it cannot be archived; archive the federation first."


class StillInUse(CoterieError):
    """Fields: version."""

    code = "registry.version_still_in_use"
    kind = ErrorKind.CONFLICT
    sentence = "Version {version} is in use, so it cannot be archived; use another one first."


class VersionArchived(CoterieError):
    """Fields: version."""

    code = "registry.version_archived"
    kind = ErrorKind.CONFLICT
    sentence = "Version {version} is archived; restore it first."


class NotReady(CoterieError):
    """Fields: pair, state."""

    code = "registry.pair_not_ready"
    kind = ErrorKind.CONFLICT
    sentence = "Pair {pair} is {state}; only a ready pair can be used."


class NoUploadedWeights(CoterieError):
    """Fields: pair, role."""

    code = "registry.no_uploaded_weights"
    kind = ErrorKind.CONFLICT
    sentence = (
        "The weights of the {role} model of {pair} were not kept when it was checked, by an earlier release; upload "
        "the pair anew."
    )


class Immutable(CoterieError):
    """Fields: version."""

    code = "registry.immutable"
    kind = ErrorKind.CONFLICT
    sentence = "Version {version} exists and cannot be changed; publish another."


class BadDataset(CoterieError):
    """Fields: problem."""

    code = "registry.bad_dataset"
    kind = ErrorKind.INVALID
    sentence = (
        "The data set must be an .npz of y, float32 or int64, and x or an array by the name of each input (float32, "
        "int64, int32, uint8 or bool), one row a sample: {problem}"
    )


class VersionRemoved(CoterieError):
    """Fields: version."""

    code = "registry.version_removed"
    kind = ErrorKind.GONE
    sentence = "The parameters of version {version} were removed to save room; only its figures are kept."


class UploadTooLarge(CoterieError):
    """Fields: what, size_bytes, limit_bytes."""

    code = "registry.upload_too_large"
    kind = ErrorKind.TOO_LARGE
    sentence = "{what} has {size_bytes} bytes, at most {limit_bytes} are taken."


class LossProgramMismatch(CoterieError):
    """Fields: loss (the recipe's kind)."""

    code = "registry.loss_program"
    kind = ErrorKind.INVALID
    sentence = (
        'A loss of your own takes both its program in the file "loss" and {{"kind": "custom"}} as the recipe\'s loss; '
        "the recipe's is {loss}."
    )


class BadLabels(CoterieError):
    """Fields: problem."""

    code = "registry.bad_labels"
    kind = ErrorKind.INVALID
    sentence = "The labels must be different names, one for each class or label, of classes at least two: {problem}."
