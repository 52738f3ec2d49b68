"""How a simulation is refused."""

from coterie.core.errors import CoterieError, ErrorKind


class UnknownPlan(CoterieError):
    """Fields: name, nearest, known."""

    code = "simulation.unknown_plan"
    kind = ErrorKind.NOT_FOUND
    sentence = "{name} is neither a file nor a preset, the nearest is {nearest}; the presets are {known}."


class UnknownScenario(CoterieError):
    """Fields: name, nearest, known."""

    code = "simulation.unknown_scenario"
    kind = ErrorKind.NOT_FOUND
    sentence = "{name} is neither a file nor a scenario that is shipped, the nearest is {nearest}; those are {known}."


class UnknownProfile(CoterieError):
    """Fields: name, nearest, known."""

    code = "simulation.unknown_profile"
    kind = ErrorKind.NOT_FOUND
    sentence = "{name} is neither a file nor a fleet that is shipped, the nearest is {nearest}; those are {known}."


class MalformedFile(CoterieError):
    """Fields: path, detail."""

    code = "simulation.malformed_file"
    kind = ErrorKind.INVALID
    sentence = "{path} cannot be used: {detail}."


class DoesNotFit(CoterieError):
    """Fields: detail."""

    code = "simulation.does_not_fit"
    kind = ErrorKind.INVALID
    sentence = "This cannot be simulated: {detail}."


class MissingPackage(CoterieError):
    """Fields: package, purpose, extra."""

    code = "simulation.missing_package"
    kind = ErrorKind.UNAVAILABLE
    sentence = "{package} is not installed, which is needed for {purpose}: pip install 'coterie[{extra}]'."


class WorkerLost(CoterieError):
    """Fields: status."""

    code = "simulation.worker_lost"
    kind = ErrorKind.UNAVAILABLE
    sentence = (
        "A worker process ended ({status}), perhaps for want of memory: take fewer --workers; what is kept by --keep "
        "goes on where it was."
    )


class RunFailed(CoterieError):
    """Fields: detail."""

    code = "simulation.run_failed"
    kind = ErrorKind.UNAVAILABLE
    sentence = "A run of the simulation failed: {detail}"


class RunCancelled(CoterieError):
    """Fields: detail."""

    code = "simulation.run_cancelled"
    kind = ErrorKind.CONFLICT
    sentence = "A run was cancelled on the platform: {detail}. The same command has it go on where it was."


class NoAnswer(CoterieError):
    """Fields: url, detail."""

    code = "simulation.no_answer"
    kind = ErrorKind.UNAVAILABLE
    sentence = (
        "{url} does not answer: {detail}. What was asked of it goes on; the same command finds what is done by then."
    )


class OtherSimulation(CoterieError):
    """Fields: path, what."""

    code = "simulation.other_simulation"
    kind = ErrorKind.CONFLICT
    sentence = (
        "{path} keeps another simulation, which differs in {what}: take another directory, or the same arguments."
    )


class DamagedSimulation(CoterieError):
    """Fields: path, detail."""

    code = "simulation.damaged"
    kind = ErrorKind.INVALID
    sentence = "{path} cannot be continued: {detail}. Take another directory to begin anew."
