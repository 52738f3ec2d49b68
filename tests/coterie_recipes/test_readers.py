"""Data of one's own, in the format that each recipe's page names: read as written, and refused where they are not."""

import csv
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from coterie_recipes import NAMES, load
from coterie_recipes.anomaly.generator import STEPS
from coterie_recipes.har.generator import draw as draw_mover
from coterie_recipes.keyword.bands import HERTZ
from coterie_recipes.pictures import SIDE
from coterie_recipes.place.generator import HOME, OUT, SPORT, WORK
from coterie_recipes.place.reader import kind_of
from coterie_recipes.recipe import UnreadableData
from coterie_recipes.tabular.generator import COLUMNS


def motion(path: Path) -> Path:
    """UCI HAR's directory, of two made-up people."""
    people = [draw_mover(0, number).train for number in range(2)]
    (path / "train" / "Inertial Signals").mkdir(parents=True)
    windows = np.concatenate([person.x for person in people])
    for place, axis in enumerate("xyz"):
        np.savetxt(path / "train" / "Inertial Signals" / f"total_acc_{axis}_train.txt", windows[:, place])
    np.savetxt(path / "train" / "y_train.txt", 1 + np.concatenate([person.y for person in people]), fmt="%d")
    np.savetxt(path / "train" / "subject_train.txt", np.repeat([5, 7], len(people[0].y)), fmt="%d")
    return path


def text(path: Path) -> Path:
    path.mkdir()
    (path / "vocabulary.txt").write_text("the cat dog sat ran on mat")
    (path / "ann.txt").write_text("The cat sat on the mat. The dog ran!\n" * 6, encoding="utf-8")
    (path / "bob.txt").write_text("The zebra ran on.\n" * 10, encoding="utf-8")
    return path


def check_ins(path: Path) -> Path:
    lines = [
        f"{user}\tv{hour}\tc\t{category}\t40.7\t-74.0\t-240\tTue Apr {3 + day:02d} {hour:02d}:00:09 +0000 2012"
        for user in ("470", "979")
        for day in range(4)
        for hour, category in ((12, "Home (private)"), (14, "Office"), (18, "Pizza Place"), (22, "Gym"))
    ]
    path.write_text("\n".join(reversed(lines)) + "\n", encoding="latin-1")
    return path


def sensors(path: Path) -> Path:
    path.mkdir()
    rng = np.random.default_rng(0)
    for name in ("pump", "valve"):
        with (path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, delimiter=";")
            writer.writerow(["datetime", "Current", "Pressure", "Temperature", "Voltage", "anomaly", "changepoint"])
            for moment in range(8 * STEPS):
                ill = moment >= 7 * STEPS
                writer.writerow([f"2020-03-09 {moment}", *(rng.normal(size=4) + 3 * ill), int(ill), 0])
    return path


def faults(path: Path) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["UDI", "Product ID", *COLUMNS, "Machine failure", "machine"])
        for row in range(24):
            writer.writerow(
                [row, f"M{row}", "LMH"[row % 3], 298.1, 308.6, 1551, 42.8, row, int(row % 5 == 0), "AB"[row % 2]]
            )
    return path


def pictures(path: Path) -> Path:
    for number in range(8):
        thing = ("disc", "star")[number % 2]
        (path / "ann" / thing).mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 30), (255, 0, 30 * number)).save(path / "ann" / thing / f"IMG_{number:04d}.png")
    return path


def recordings(path: Path) -> Path:
    for word in ("yes", "zebra"):
        (path / word).mkdir(parents=True)
        for number in range(4):
            with wave.open(str(path / word / f"3a9f_nohash_{number}.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(HERTZ)
                sound = 9000 * np.sin(np.arange(HERTZ - 999) * (0.1 + 0.01 * number))
                file.writeframes(sound.astype("<i2").tobytes())
    return path


def signs(path: Path) -> Path:
    for number in range(8):
        sign = ("arrow", "stairs")[number % 2]
        (path / "ann" / sign).mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (30, 40), (0, 255, 30 * number)).save(path / "ann" / sign / f"IMG_{number:04d}.jpg")
    return path


def messages(path: Path) -> Path:
    """Of two people, every third of them with its kind, and all of the newest."""
    path.mkdir()
    (path / "vocabulary.txt").write_text("Dinner train goal bank run at six")
    lines = [("food", "Dinner at SIX?"), ("", "run, the train leaves"), ("travel", "train at six zebra")] * 5
    for name in ("ann", "bob"):
        (path / f"{name}.tsv").write_text("".join(f"{kind}\t{said}\n" for kind, said in lines), encoding="utf-8")
    return path


WRITERS: dict[str, Callable[[Path], Path]] = {
    "har": motion,
    "next_word": text,
    "messages": messages,
    "place": check_ins,
    "anomaly": sensors,
    "tabular": faults,
    "trees": faults,
    "photos": pictures,
    "transfer": signs,
    "keyword": recordings,
}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_as_the_models_take_it(name: str, tmp_path: Path) -> None:
    recipe = load(name)
    made_up = recipe.draw(0, 0)
    for person in recipe.read(WRITERS[name](tmp_path / "data")).values():
        for part in (person.train, person.test):
            assert part.x.shape[1:] == made_up.train.x.shape[1:]
            assert (part.x.dtype, part.y.dtype) == (made_up.train.x.dtype, made_up.train.y.dtype)
            assert np.isfinite(part.x).all()
        assert len(person.train.y)
        assert len(person.truth) == len(person.test.y)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_there_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableData, match="nothing"):
        load(name).read(tmp_path / "nothing")


def test_motion_keeps_windows_and_subjects(tmp_path: Path) -> None:
    found = load("har").read(motion(tmp_path / "data"))
    assert sorted(found) == ["5", "7"]
    assert np.allclose(found["7"].train.x, draw_mover(0, 1).train.x[: len(found["7"].train.x)], atol=1e-6)
    np.savetxt(tmp_path / "data" / "train" / "y_train.txt", np.full(240, 9), fmt="%d")
    with pytest.raises(UnreadableData, match=r"1 to 6|as many lines"):
        load("har").read(tmp_path / "data")


def test_unknown_words_are_no_targets(tmp_path: Path) -> None:
    found = load("next_word").read(text(tmp_path / "data"))
    assert set(np.unique(found["bob"].train.y)) == {1, 5, 6}, "the, ran, on, and no zebra"
    assert found["ann"].train.x[:3].tolist() == [[0, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1, 2]]
    (tmp_path / "data" / "vocabulary.txt").write_text(" ".join(f"w{number}" for number in range(300)))
    with pytest.raises(UnreadableData, match="300 words"):
        load("next_word").read(tmp_path / "data")


def test_messages_have_a_kind_where_somebody_has_said_it(tmp_path: Path) -> None:
    found = load("messages").read(messages(tmp_path / "data"))
    assert sorted(found) == ["ann", "bob"]
    ann = found["ann"]
    assert ann.pretrained_on.x[:3, :5].tolist() == [[0, 9, 14, 15, 0], [0, 13, 10, 0, 0], [0, 10, 14, 15, 0]]
    assert ann.train.y[:3, 0].tolist() == [4, 5, 4], "food and travel; nobody has said the second"
    assert (len(ann.pretrained_on.y), len(ann.train.y), len(ann.truth)) == (12, 8, 2)
    for line, match in (("lunch\tat six", "line 2: expected the kind"), ("at six", "a kind is blank or one of family")):
        (tmp_path / "data" / "ann.tsv").write_text(f"food\tsix\n{line}\n")
        with pytest.raises(UnreadableData, match=match):
            load("messages").read(tmp_path / "data")


def test_check_ins_come_in_the_order_of_local_time(tmp_path: Path) -> None:
    found = load("place").read(check_ins(tmp_path / "data.txt"))
    assert sorted(found) == ["470", "979"]
    assert found["470"].train.y[:5].tolist() == [SPORT, HOME, WORK, 2, SPORT]
    assert [kind_of(name) for name in ("Gym / Fitness Center", "Bar", "Residential Building (Apartment)")] == [
        SPORT,
        OUT,
        HOME,
    ]
    (tmp_path / "data.txt").write_text("470\tv\n")
    with pytest.raises(UnreadableData, match="line 1: 2 columns"):
        load("place").read(tmp_path / "data.txt")


def test_marks_are_for_the_test_alone(tmp_path: Path) -> None:
    found = load("anomaly").read(sensors(tmp_path / "data"))
    assert found["pump"].truth.tolist() == [0, 1]
    assert np.array_equal(found["pump"].train.x, found["pump"].train.y), "a window is its own target"


def test_rows_belong_to_their_machine(tmp_path: Path) -> None:
    path = faults(tmp_path / "data.csv")
    found = load("tabular").read(path)
    assert {name: len(one.train.y) + len(one.test.y) for name, one in found.items()} == {"A": 12, "B": 12}
    path.write_text(path.read_text().replace("1551", "fast"))
    with pytest.raises(UnreadableData, match="line 2: 'fast' is not a number"):
        load("tabular").read(path)
    path.write_text(path.read_text().replace(",machine", ",whose"))
    with pytest.raises(UnreadableData, match="lacks machine"):
        load("tabular").read(path)


def test_pictures_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    found = load("photos").read(pictures(tmp_path / "data"))["ann"]
    assert found.train.x.shape == (6, 3, SIDE, SIDE)
    assert found.train.y.tolist() == [0, 6, 0, 6, 0, 6]
    assert np.allclose(found.train.x[:, 2, 0, 0], np.arange(6) * 30 / 255, atol=1e-3)
    (tmp_path / "data" / "ann" / "zebra").mkdir()
    (tmp_path / "data" / "ann" / "zebra" / "a.png").write_bytes(b"")
    with pytest.raises(UnreadableData, match="zebra is none of"):
        load("photos").read(tmp_path / "data")


def test_words_that_are_no_keyword_are_the_last_class(tmp_path: Path) -> None:
    path = recordings(tmp_path / "data")
    found = load("keyword").read(path)["3a9f"]
    assert found.train.y.tolist() == [0, 7, 0, 7, 0, 7]
    (path / "yes" / "3a9f_nohash_0.wav").write_bytes(b"RIFF")
    with pytest.raises(UnreadableData, match="3a9f_nohash_0"):
        load("keyword").read(path)
