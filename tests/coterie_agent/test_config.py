"""The owner's settings: what is read, and what is said of what cannot be."""

from pathlib import Path

import pytest

from coterie_agent.config import Config, load_config
from coterie_agent.errors import AgentError, Exit
from tests.server_certificate import server_certificate


def refusal(tmp_path: Path, written: str) -> str:
    path = tmp_path / "agent.toml"
    path.write_text(written)
    with pytest.raises(AgentError) as refused:
        load_config(path)
    assert (refused.value.code, refused.value.exit_code) == ("config.invalid", Exit.BAD_CONFIG)
    file, _, said = refused.value.detail.partition(": ")
    assert file == str(path)
    return said


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("threads = true", "threads is true; it must be a whole number, at least 1 and at most 64, without quotes"),
        ("processor_share = nan", "processor_share is NaN; it must be a number, above 0 and at most 1, without quotes"),
        (f"max_samples = {10**24}", "at least 1 and at most 1000000000"),
        ("ca_file = 3", "ca_file is 3; it must be text in quotes"),
        ('[relay]\nport = "8717"', '[relay] port is "8717"; it must be a whole number, at least 1 and at most 65535'),
        ("[policy]\nhours = [7, 24]", "[policy] hours is [7, 24]; it must be 2 values in brackets"),
        ("[policy]\nhours = 07:00:00", '[policy] hours is "07:00:00"; it must be 2 values in brackets'),
        ('[policy]\nidle = "yes"', '[policy] idle is "yes"; it must be true or false, without quotes'),
        ('[questions]\nanswer = ["age"]', '[questions] answer is ["age"]; it must be values in brackets'),
        ("[serving]\ndeadline_ms = 0", "[serving] deadline_ms is 0; it must be a number, above 0 and at most 60000"),
        ("policy = 3", "[policy] is a table of settings, which stand below it, each in a line; here it is 3"),
        ("[discovery]\nlocal_network = true", '[discovery]: local_network needs mode = "find" or "announce"'),
        (f'peers = "{"x" * 99}"', "x…"),
        ("trian = true", "there is no 'trian', the nearest is "),
        ("[peers]\ntel = 1", "[peers]: there is no 'tel', the nearest is 'tell'"),
    ],
)
def test_what_is_wrong_is_said_with_what_may_stand_there(tmp_path: Path, written: str, said: str) -> None:
    assert said in refusal(tmp_path, written)


def test_a_choice_is_told_with_all_that_there_are(tmp_path: Path) -> None:
    said = refusal(tmp_path, '[peers]\ntell = "all"')
    assert said == '[peers] tell is "all"; it must be "classes", "counts", "nothing" or "rounded"'


def test_authorities_are_found_from_the_settings_and_are_there_or_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path, 'ca_file = "ca.pem"')
    assert said == f"ca_file: {tmp_path / 'ca.pem'}: No such file or directory"
    (tmp_path / "ca.pem").write_text("no certificate\n")
    assert "holds no certificate in PEM" in refusal(tmp_path, 'ca_file = "ca.pem"')
    certificate = server_certificate(tmp_path)
    (tmp_path / "agent.toml").write_text(f'ca_file = "{certificate.name}"')
    assert load_config(tmp_path / "agent.toml").ca_file == str(certificate)


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load_config(tmp_path / "agent.toml") == Config()
