"""What is only a hint must not fail what has been committed, and many cost little more than one."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from channels.layers import channel_layers, get_channel_layer

from coterie.core.events import CONSOLE, DEVICES, DROP, WAKE, notify_consoles, wake_device, wake_devices
from coterie.core.hints import DEVICES_A_MESSAGE, Hint, messages_of, wait_for_hints
from coterie.core.jobs import Job

Capture = Callable[..., AbstractContextManager[object]]
WAIT_S = 10.0


class RecordingLayer:
    """Keeps what is sent, and on which thread; the first message can be held up, or fail."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, object]]] = []
        self.threads: set[str] = set()
        self.hold = threading.Event()
        self.hold.set()
        self.error: Exception | None = None

    async def group_send(self, group: str, event: dict[str, object]) -> None:
        assert self.hold.wait(WAIT_S)
        self.threads.add(threading.current_thread().name)
        error, self.error = self.error, None
        if error is not None:
            raise error
        self.sent.append((group, event))


@pytest.fixture
def layer() -> Iterator[RecordingLayer]:
    wait_for_hints(within_s=WAIT_S)
    before = get_channel_layer()
    recording = RecordingLayer()
    channel_layers.set("default", recording)
    yield recording
    wait_for_hints(within_s=WAIT_S)
    channel_layers.set("default", before)


@pytest.mark.django_db
def test_a_job_that_cannot_be_sent_is_logged(
    django_capture_on_commit_callbacks: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        Job("tests.nobody").send(argument=object())  # type: ignore[arg-type]  # no broker takes it
    assert "not JSON serializable" in caplog.text


@pytest.mark.django_db
def test_a_hint_that_cannot_be_sent_is_logged_and_the_next_goes_out(
    django_capture_on_commit_callbacks: Capture, caplog: pytest.LogCaptureFixture, layer: RecordingLayer
) -> None:
    layer.error = OSError("the broker is away")
    with django_capture_on_commit_callbacks(execute=True):
        notify_consoles("fleet")
        wake_device("d-1")
    wait_for_hints(within_s=WAIT_S)
    assert "the broker is away" in caplog.text
    assert len(layer.sent) == 1


@pytest.mark.django_db
def test_what_comes_while_the_layer_is_busy_goes_out_together_from_one_thread(
    django_capture_on_commit_callbacks: Capture, layer: RecordingLayer
) -> None:
    layer.hold.clear()
    with django_capture_on_commit_callbacks(execute=True):
        wake_device("first")
    with django_capture_on_commit_callbacks(execute=True):
        for number in range(1000):
            wake_device(f"d-{number}")
            notify_consoles("rounds")
    layer.hold.set()
    wait_for_hints(within_s=WAIT_S)
    woken = [name for group, event in layer.sent if group == DEVICES for name in event["devices"]]
    assert sorted(woken) == sorted(["first", *(f"d-{number}" for number in range(1000))])
    assert len(layer.sent) <= 4, "one or two for whatever was quicker than the layer, and two for all the rest"
    assert layer.threads == {"hints"}


@pytest.mark.django_db
def test_waking_many_is_one_message(django_capture_on_commit_callbacks: Capture, layer: RecordingLayer) -> None:
    names = [f"d-{number}" for number in range(1000)]
    with django_capture_on_commit_callbacks(execute=True):
        wake_devices(names)
    wait_for_hints(within_s=WAIT_S)
    assert layer.sent == [(DEVICES, {"type": WAKE, "devices": names})]


def test_hints_are_told_once_and_in_parts_of_bounded_size() -> None:
    many = tuple(f"d-{number}" for number in range(DEVICES_A_MESSAGE + 1))
    hints = [
        Hint(CONSOLE, "console.changed", app="fleet"),
        Hint(DEVICES, WAKE, devices=("d-1", "d-2")),
        Hint(DEVICES, DROP, devices=("d-1",)),
        Hint(CONSOLE, "console.changed", app="fleet"),
        Hint(DEVICES, WAKE, devices=many),
    ]
    messages = messages_of(hints)
    assert [message.event for message in messages if message.group == CONSOLE] == [
        {"type": "console.changed", "app": "fleet"}
    ]
    woken = [message.event["devices"] for message in messages if message.event["type"] == WAKE]
    assert [len(part) for part in woken] == [DEVICES_A_MESSAGE, 1]
    assert sorted(name for part in woken for name in part) == sorted(many)
    assert [message.event["devices"] for message in messages if message.event["type"] == DROP] == [["d-1"]]
