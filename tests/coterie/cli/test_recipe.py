import json
from pathlib import Path

from click.testing import CliRunner

from coterie.cli.command import coterie
from coterie_recipes import NAMES


def test_lists_what_there_is_with_figures() -> None:
    told = CliRunner().invoke(coterie, ["recipe"]).output
    assert all(name in told for name in NAMES)


def test_runs_one_and_writes_its_figures(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    arguments = ["recipe", "tabular", "--people", "2", "--rounds", "1", "--seed", "3", "--json", str(found)]
    ended = CliRunner().invoke(coterie, arguments, catch_exceptions=False)
    assert ended.exit_code == 0
    assert "each device alone" in ended.output
    document = json.loads(found.read_bytes())
    assert (document["recipe"], document["seed"], len(document["by_round"])) == ("tabular", 3, 1)
    assert set(document["scores"]) > {"alone", "federation", "devices", "centralised"}
    alone = CliRunner().invoke(coterie, [*arguments[:-1], "-"], catch_exceptions=False)
    assert json.loads(alone.stdout) == document, "and nothing else"


def test_writes_the_files_of_data_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "vocabulary.txt").write_text("the cat sat on mat")
    for name in "abc":
        (tmp_path / "data" / f"{name}.txt").write_text("The cat sat on the mat. " * 5)
    arguments = ["recipe", "next_word", "--data", str(tmp_path / "data"), "--write", str(tmp_path / "new")]
    ended = CliRunner().invoke(coterie, arguments, catch_exceptions=False)
    assert ended.exit_code == 0
    assert "2 people take part, 1 do not" in ended.output
    assert sorted(path.name for path in (tmp_path / "new" / "devices").iterdir()) == ["a.npz", "b.npz"]


def test_says_what_is_wrong(tmp_path: Path) -> None:
    unknown = CliRunner().invoke(coterie, ["recipe", "zebra"])
    both = CliRunner().invoke(coterie, ["recipe", "tabular", "--people", "3", "--data", str(tmp_path)])
    unreadable = CliRunner().invoke(coterie, ["recipe", "tabular", "--data", str(tmp_path)])
    assert "[recipes.unknown]" in unknown.output
    assert "made-up people" in both.output
    assert "[recipes.unreadable_data]" in unreadable.output
