"""What a way of learning costs: bytes with their framing, seconds of radios, joules of devices and of the cloud.

Radios: Huang et al. 2012, "A close examination of performance and power characteristics of 4G LTE networks" (MobiSys),
Table 4: power while data go up and down is a_u b_u + a_d b_d + beta, rates in Mbit/s; after a burst, LTE stays awake
for 11.6 s. A phone's processor while it trains: Lu et al. 2019, "Collaborative learning between cloud and end
devices" (Colla, SEC), 127 mWh in 217 s. The rest are assumptions of ours, and say so.
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
    """For each Mbit/s that goes up."""
    down_mw: float
    base_mw: float
    """While anything is sent."""
    tail_s: float = 0.0
    """Seconds for which it stays awake after a burst."""
    tail_mw: float = 0.0


RADIOS: Mapping[NetworkName, Radio] = {
    "wifi": Radio(283.0, 137.0, 133.0),
    "lte": Radio(438.0, 52.0, 1288.0, 11.6, 1060.0),
    "3g": Radio(869.0, 122.0, 818.0),
}
"""Huang et al. 2012, Table 4. Its tails of Wi-Fi (0.24 s) and 3G are left out."""


class Costs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model of costs; every figure can be another."""

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
    "requests": 0.5,  # asked by one, answered by another
    "portions": 0.5,  # counted where they are sent and where they are received
    "meetings": 0.5,
}
"""Share of a kind that goes up from devices; what is not here stays among servers."""


class Cost(msgspec.Struct, frozen=True):
    """Of all devices together, and of the servers."""

    up_bytes: int
    """From devices, with framing."""
    down_bytes: int
    server_bytes: int
    """Between servers."""
    messages: int
    """From and to devices."""
    radio_s: float
    device_compute_s: float
    device_joules: float
    server_joules: float


def cost_of(used: Used, speed: Speed, costs: Costs, *, predicted: int = 0, server_samples: int = 0) -> Cost:
    """`predicted` samples were predicted on devices; servers trained on, or predicted for, `server_samples`."""
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
    """The mean over the devices that took part."""

    bytes: float
    """Up and down, with framing."""
    joules: float
    """Of radio and processor."""


def cost_of_device(used: Used, speed: Speed, costs: Costs, *, devices: int) -> DeviceCost:
    """`devices` took part and used it all; of none, as if it had been one."""
    cost, count = cost_of(used, speed, costs), max(1, devices)
    return DeviceCost((cost.up_bytes + cost.down_bytes) / count, cost.device_joules / count)


def _sizes(used: Used, costs: Costs) -> Mapping[str, float]:
    """By kind, bytes as they travel."""
    return {
        what: size * (1 + costs.framing) + used.messages_by_kind[what] * costs.message_bytes
        for what, size in used.bytes_by_kind.items()
    }
