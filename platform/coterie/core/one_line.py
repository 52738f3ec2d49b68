"""What another program says, on one line of a log."""


def one_line(said: object) -> str:
    """The words of `said` with a space between each, as of an error that drivers write over several lines."""
    return " ".join(str(said).split())
