from io import StringIO

from coterie.offline.progress import ProgressLine


def test_what_is_told_is_written_over_what_was_there() -> None:
    stream = StringIO()
    with ProgressLine(stream) as line:
        for text in ("compiling", "compiling", "done"):
            line.show(text)
    assert stream.getvalue() == "\rcompiling\rdone     \n"


def test_nothing_told_leaves_no_line() -> None:
    stream = StringIO()
    with ProgressLine(stream):
        pass
    assert stream.getvalue() == ""
    with ProgressLine.wanted(False) as line:
        line.show("unseen")
