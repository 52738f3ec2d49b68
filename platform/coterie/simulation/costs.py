"""The cost of a simulation: bytes with framing, radio seconds, joules of devices and of the cloud.

Radios: Huang et al. 2012, "A close examination of performance and power characteristics of 4G LTE networks" (MobiSys),
Table 4: power during transfer is a_u b_u + a_d b_d + beta, rates in Mbit/s; after a burst, LTE stays awake for 11.6 s.
A phone's processor during training: Lu et al. 2019, "Collaborative learning between cloud and end devices" (Colla,
SEC), 127 mWh in 217 s. The rest are our assumptions, marked as such.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from coterie.simulation.ledger import Used
from coterie.simulation.scenario import Speed

NetworkName = Literal["wifi", "lte", "3g"]
MBIT = 125_000.0
"""Bytes."""


class Radio(NamedTuple):
    """Power of a radio, in mW."""

    up_mw: float
    """For each Mbit/s of upload."""
    down_mw: float
    base_mw: float
    """During any transfer."""
    tail_s: float = 0.0
    """Seconds that it stays awake after a burst."""
    tail_mw: float = 0.0


RADIOS: Mapping[NetworkName, Radio] = {
    "wifi": Radio(283.0, 137.0, 133.0),
    "lte": Radio(438.0, 52.0, 1288.0, 11.6, 1060.0),
    "3g": Radio(869.0, 122.0, 818.0),
}
"""Huang et al. 2012, Table 4. Its tails of Wi-Fi (0.24 s) and 3G are left out."""


class Costs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cost model; every figure can be changed."""

    network: Annotated[NetworkName, Meta(description="the radio that devices send with")] = "wifi"
    processor_w: Annotated[float, Meta(ge=0, le=1000, description="of a device that trains; a phone")] = 2.1
    predict_share: Annotated[
        float,
        Meta(ge=0, le=1, description="of the time to train on a sample, to predict one: forward of forward, back"),
    ] = 1 / 3
    server_w: Annotated[float, Meta(ge=0, le=10_000, description="of a core of a server that computes; assumed")] = 10.0
    server_speed: Annotated[
        float, Meta(gt=0, le=1e6, description="times quicker than a device a core of a server is; assumed")
    ] = 8.0
    framing: Annotated[float, Meta(ge=0, le=1, description="bytes of TLS and TCP for each byte; assumed")] = 0.02
    message_bytes: Annotated[float, Meta(ge=0, le=1e6, description="bytes of headers a message; assumed")] = 400.0


UP: Mapping[str, float] = {
    "raw": 1.0,
    "updates": 1.0,
    "metadata": 1.0,
    "answers": 0.0,
    "graphs": 0.0,
    "versions": 0.0,
    "teachers": 0.0,
    "requests": 0.5,  # a request and a response
    "portions": 0.5,  # counted at both the sender and the receiver
    "meetings": 0.5,
}
"""Share of a kind that is uploaded by devices; kinds not listed are sent between servers."""


class Cost(msgspec.Struct, frozen=True):
    """The cost of all devices together, and of the servers."""

    up_bytes: int
    """Bytes from devices, with framing."""
    down_bytes: int
    server_bytes: int
    """Bytes between servers."""
    messages: int
    """Messages from and to devices."""
    radio_s: float
    device_compute_s: float
    device_joules: float
    server_joules: float


def cost_of(used: Used, speed: Speed, costs: Costs, *, predicted: int = 0, server_samples: int = 0) -> Cost:
    """Devices predicted `predicted` samples; servers trained on or predicted `server_samples`."""
    up_bytes = down_bytes = up_bursts = down_bursts = 0.0
    for what, size in _sizes(used, costs).items():
        share, messages = UP.get(what), used.messages_by_kind[what]
        if share is not None:
            up_bytes, down_bytes = up_bytes + share * size, down_bytes + (1 - share) * size
            up_bursts, down_bursts = up_bursts + share * messages, down_bursts + (1 - share) * messages
    server_bytes = sum(size for what, size in _sizes(used, costs).items() if what not in UP)
    up_s, down_s = up_bytes / speed.uplink_bytes_s, down_bytes / speed.downlink_bytes_s
    radio = RADIOS[costs.network]
    radio_j = up_s * (radio.up_mw * speed.uplink_bytes_s / MBIT + radio.base_mw) / 1000
    radio_j += down_s * (radio.down_mw * speed.downlink_bytes_s / MBIT + radio.base_mw) / 1000
    radio_j += (up_bursts + down_bursts) * radio.tail_s * radio.tail_mw / 1000
    computed_s = used.trained_s + predicted * speed.sample_s * costs.predict_share
    return Cost(
        up_bytes=round(up_bytes),
        down_bytes=round(down_bytes),
        server_bytes=round(server_bytes),
        messages=round(up_bursts + down_bursts),
        radio_s=up_s + down_s + (up_bursts + down_bursts) * speed.latency_s,
        device_compute_s=computed_s,
        device_joules=radio_j + computed_s * costs.processor_w,
        server_joules=server_samples * speed.sample_s / costs.server_speed * costs.server_w,
    )


class DeviceCost(NamedTuple):
    """The mean cost over the devices that took part."""

    bytes: float
    """Up and down, with framing."""
    joules: float
    """Of radio and processor."""


def cost_of_device(used: Used, speed: Speed, costs: Costs, *, devices: int) -> DeviceCost:
    """The mean cost of so many participating `devices`; 0 counts as 1."""
    cost, count = cost_of(used, speed, costs), max(1, devices)
    return DeviceCost((cost.up_bytes + cost.down_bytes) / count, cost.device_joules / count)


def _sizes(used: Used, costs: Costs) -> Mapping[str, float]:
    """Bytes by kind, with framing."""
    return {
        what: size * (1 + costs.framing) + used.messages_by_kind[what] * costs.message_bytes
        for what, size in used.bytes_by_kind.items()
    }
