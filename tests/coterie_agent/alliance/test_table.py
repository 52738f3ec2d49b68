"""A party's table is read, or refused with the line of the file that is wrong."""

from pathlib import Path

import pytest

from coterie_agent.alliance.table import PeopleTable, read_table
from coterie_agent.errors import AgentError


def read(directory: Path, content: str) -> PeopleTable:
    path = directory / "people.csv"
    path.write_text(content, encoding="utf-8")
    return read_table(path, identifier="who", label="ill")


def test_blank_lines_are_no_people_and_text_may_have_several_lines(tmp_path: Path) -> None:
    table = read(tmp_path, 'who,age,ill\n"ada\nlovelace",30,yes\n\nbob,,\n')
    assert (table.identifiers, table.names, table.labels) == (("ada\nlovelace", "bob"), ("age",), ("yes", ""))


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        ("bob,4", "line 5 has 2 values"),
        (" ,4,", "line 5 has no identifier"),
        ("ada,4,", "lines 4 and 5 have the same identifier"),
        ("bob,four,", "line 5: could not convert string to float: 'four'"),
    ],
    ids=["too few values", "no identifier", "the same identifier", "no number"],
)
def test_what_is_wrong_is_named_by_its_line_in_the_file(tmp_path: Path, last: str, problem: str) -> None:
    with pytest.raises(AgentError, match=problem) as refused:
        read(tmp_path, f'who,age,ill\n"eve\nthe first",1,\nada,3,\n{last}\n')
    assert refused.value.code == "alliance.bad_table"
