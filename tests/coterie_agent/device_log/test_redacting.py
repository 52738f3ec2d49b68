"""What is taken out of a line of the log, and what people who look for a fault still read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_agent.device_log.redacting import Redactor
from coterie_wire.device_log import MAX_TEXT, LogLine

TOKEN = "kD3x-9fQ_2LmZ0vTqRw8YbN4cHs7JgPe"
DEVICE = "7f0d1c5e-0000-4000-8000-000000000001"


def redacted(text: str, *, figures: bool = True, secrets: tuple[str, ...] = ()) -> str:
    line = LogLine(at=0.0, level="info", source="contact", text=text)
    homes = (Path("/home/ada/agent"), Path("/home/ada"), Path("/"))
    return Redactor(secrets=secrets, homes=homes, figures=figures).redacted(line).text


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        (f"refused: Bearer {TOKEN}", "refused: Bearer [secret]"),
        (f"key {'ab12' * 16} is not the platform's", "key [secret] is not the platform's"),
        ("https://ada:pass@fleet.example/x?token=abc", "https://[secret]fleet.example/x?[secret]"),
        ("kiosk runs, 120 samples, platform https://fleet.example", "kiosk runs, [numbers] samples, platform "
         "https://fleet.example"),
        ("a batch is left out: [0.25, -1.5e-3, 7]", "a batch is left out: [[numbers]]"),
        ("the page is on the network: https://192.168.1.20:8719", "the page is on the network: https://[address]:8719"),
        ("/home/ada/agent/state/x: disk full", "~/state/x: disk full"),
        ("/home/ada/photos: not a file", "~/photos: not a file"),
    ],
)  # fmt: skip
def test_secrets_samples_paths_and_addresses_are_taken_out(written: str, sent: str) -> None:
    assert redacted(written) == sent


@pytest.mark.parametrize(
    "text",
    [
        "accepted round 3 of digits",
        f"a direct path to device {DEVICE} is open",
        "no contact with the platform: ConnectionRefusedError; trying again [link.unreachable]",
        "thread secure-sum-of-a-federation failed",
        "made version 12 of a difference of 40312 bytes",
    ],
)
def test_what_tells_of_a_fault_stays(text: str) -> None:
    assert redacted(text) == text


def test_under_a_plan_that_hides_figures_no_number_stays() -> None:
    assert redacted("training of round 3 pauses at step 40, loss 0.251", figures=False) == (
        "training of round # pauses at step #, loss #"
    )


def test_a_secret_that_is_known_goes_whatever_it_looks_like() -> None:
    assert redacted("it says open sesame to all", secrets=("open sesame", "")) == "it says [secret] to all"


@given(
    st.text(alphabet="abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789-_", min_size=32, max_size=80),
    st.sampled_from(["", "token ", "https://x.example/", "'", "(", "secret="]),
)
def test_a_random_string_of_a_tokens_length_never_stays(secret: str, before: str) -> None:
    if any(letter.isdigit() for letter in secret):
        assert secret not in redacted(f"{before}{secret}")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=8))
def test_no_value_of_a_sample_stays(values: list[float]) -> None:
    assert redacted(f"sample {values} is not used") == "sample [[numbers]] is not used"


@given(st.text(max_size=2 * MAX_TEXT))
def test_a_line_stays_within_its_bound(text: str) -> None:
    assert len(redacted(text)) <= MAX_TEXT
