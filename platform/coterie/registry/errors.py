"""What can go wrong with pairs, versions and data sets."""

from coterie.core.errors import CoterieError, ErrorKind


class UnknownBlob(CoterieError):
    """Fields: sha256."""

    code = "registry.unknown_blob"
    kind = ErrorKind.NOT_FOUND
    sentence = "there is no blob {sha256} that a device may read"


class UnknownVersion(CoterieError):
    """Fields: version."""

    code = "registry.unknown_version"
    kind = ErrorKind.NOT_FOUND
    sentence = "the pair has no version {version}"


class NothingToRollBackTo(CoterieError):
    """Fields: pair."""

    code = "registry.nothing_to_roll_back_to"
    kind = ErrorKind.CONFLICT
    sentence = "the champion of {pair} has no version before it"


class NameTaken(CoterieError):
    """Fields: slug."""

    code = "registry.name_taken"
    kind = ErrorKind.CONFLICT
    sentence = "there is a pair called {slug} already; choose another name"


class NotReady(CoterieError):
    """Fields: pair, state."""

    code = "registry.pair_not_ready"
    kind = ErrorKind.CONFLICT
    sentence = "pair {pair} is {state}; only a ready pair can be used"


class Immutable(CoterieError):
    """Fields: version."""

    code = "registry.immutable"
    kind = ErrorKind.CONFLICT
    sentence = "version {version} exists and cannot be changed; publish another"


class BadDataset(CoterieError):
    """Fields: problem."""

    code = "registry.bad_dataset"
    kind = ErrorKind.INVALID
    sentence = (
        "the data set must be an .npz of x (float32 or int64, one row a sample) and y (int64, classes): {problem}"
    )


class UploadTooLarge(CoterieError):
    """Fields: what, size_bytes, limit_bytes."""

    code = "registry.upload_too_large"
    kind = ErrorKind.TOO_LARGE
    sentence = "{what} has {size_bytes} bytes, at most {limit_bytes} are taken"


class BadLabels(CoterieError):
    """Fields: problem."""

    code = "registry.bad_labels"
    kind = ErrorKind.INVALID
    sentence = "the labels must be at least two different names: {problem}"
