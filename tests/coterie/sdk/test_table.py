from pathlib import Path

import pytest

from coterie.sdk.table import Table

TABLE = Table.of([{"round": 1, "accuracy": 0.123456}, {"round": 2, "reason": "too few, by two"}])


def test_rows_have_every_column(tmp_path: Path) -> None:
    assert TABLE.columns == ("round", "accuracy", "reason")
    assert TABLE.rows[1] == {"round": 2, "accuracy": None, "reason": "too few, by two"}
    assert TABLE.column("accuracy") == [0.123456, None]
    assert (len(TABLE), list(TABLE)) == (2, list(TABLE.rows))
    TABLE.to_csv(tmp_path / "rounds.csv")
    assert (tmp_path / "rounds.csv").read_text() == 'round,accuracy,reason\n1,0.123456,\n2,,"too few, by two"\n'
    assert str(TABLE) == "round  accuracy  reason\n1      0.1235    –\n2      –         too few, by two"


def test_an_unknown_column_is_told() -> None:
    with pytest.raises(KeyError, match="no column 'loss'; there are round, accuracy"):
        TABLE.column("loss")


def test_one_without_rows_is_empty(tmp_path: Path) -> None:
    assert str(Table.of([])) == ""
    assert str(Table.of([], without_rows="No round yet.")) == "No round yet."
