from pathlib import Path

import pytest

from coterie.simulation.baselines.centralised import Centralised
from coterie.simulation.contenders import contender_document, parse_contender, read_contender, shipped_contenders
from coterie.simulation.errors import MalformedFile, UnknownPlan
from coterie_learning.plan import Plan, leading_comment


@pytest.mark.parametrize("name", shipped_contenders())
def test_what_is_shipped_can_be_read_and_written(name: str) -> None:
    contender = read_contender(name)
    assert parse_contender(contender_document(contender), path=name) == contender


@pytest.mark.parametrize("path", shipped_contenders().values(), ids=shipped_contenders())
def test_each_says_what_it_is_for_and_when_it_loses(path: Path) -> None:
    what_for, loses, *_ = leading_comment(path)
    assert what_for.endswith(".")
    assert loses.startswith("Loses ")


def test_centralised_is_a_baseline_and_no_plan() -> None:
    assert isinstance(read_contender("centralised"), Centralised)
    assert isinstance(read_contender("isolated"), Plan)


def test_a_file_of_ones_own_will_do(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[local]\nkind = "prox"\nmu = 0.5\n')
    assert isinstance(read_contender(str(path)), Plan)


@pytest.mark.parametrize(
    "text", ["[local", '[local]\nkind = "magic"', "[baseline]", '[baseline]\nkind = "centralised"\nepochs = 0', "x = 1"]
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(MalformedFile):
        read_contender(str(path))


def test_a_name_that_stands_for_nothing_is_refused_with_those_that_do() -> None:
    with pytest.raises(UnknownPlan, match="centralised"):
        read_contender("no-such-plan")
    with pytest.raises(UnknownPlan, match="the nearest is fedavg;"):
        read_contender("fedagv")
