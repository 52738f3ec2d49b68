"""What can go wrong with cloud training, besides what its child processes report."""

from coterie.core.errors import CoterieError, ErrorKind


class PairBusy(CoterieError):
    """Fields: pair."""

    code = "cloud_training.pair_busy"
    kind = ErrorKind.CONFLICT
    sentence = "Another job works on pair {pair}; wait for it or cancel it."


class AlreadySimulated(CoterieError):
    """Fields: federation."""

    code = "cloud_training.already_simulated"
    kind = ErrorKind.CONFLICT
    sentence = "A plan of federation {federation} is being tried already; wait for it or cancel it."


class PairNotReady(CoterieError):
    """Fields: pair, state."""

    code = "cloud_training.pair_not_ready"
    kind = ErrorKind.CONFLICT
    sentence = "Pair {pair} is {state}; only a ready pair is trained."


class NotCompiled(CoterieError):
    """Fields: none."""

    code = "cloud_training.not_compiled"
    kind = ErrorKind.INVALID
    sentence = "Transfers by priority wait inside the passes, which are then not compiled: choose one of the two."


class DatasetDoesNotFit(CoterieError):
    """Fields: dataset, problem."""

    code = "cloud_training.dataset_does_not_fit"
    kind = ErrorKind.INVALID
    sentence = "Data set {dataset} cannot train this pair: {problem}."


class NotADeviceModel(CoterieError):
    """Fields: version."""

    code = "cloud_training.not_a_device_model"
    kind = ErrorKind.CONFLICT
    sentence = "Version {version} is of a cloud model, which no device runs; quantise a version of the device model."


class JobHasEnded(CoterieError):
    """Fields: job, state."""

    code = "cloud_training.job_has_ended"
    kind = ErrorKind.CONFLICT
    sentence = "Job {job} is {state} already."


class JobHasNotFailed(CoterieError):
    """Fields: job, state."""

    code = "cloud_training.job_has_not_failed"
    kind = ErrorKind.CONFLICT
    sentence = "Job {job} is {state}; only one that failed or was cancelled is tried again."


class NoCloudModel(CoterieError):
    """Fields: pair."""

    code = "cloud_training.no_cloud_model"
    kind = ErrorKind.CONFLICT
    sentence = "The cloud model of {pair} has no version yet: bootstrap the pair, or use its uploaded weights."
