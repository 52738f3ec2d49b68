"""The owner's settings: one TOML file, read once into a frozen struct; unknown keys are refused."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_agent.errors import AgentError, Exit
from coterie_agent.sharing import Telling
from coterie_wire.conditions import Requirements
from coterie_wire.structs import from_values


class PeersSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the owner lets the device have to do with other devices, through the platform."""

    tell: Telling = "counts"
    """What the platform is told of the device's data: exact counts by class, counts rounded to powers of two, only
    which classes there are, or nothing. A device that does not tell how well it knows its classes helps nobody, and one
    that tells nothing cannot ask."""
    help_others: bool = True
    """Send parts of the device's personal model to devices that ask for help."""
    ask: bool = True
    """Ask for help when the device's personal model fails."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the device's owner decides; every key has a default."""

    policy: Requirements = Requirements()
    """What the owner asks before the device trains. A plan can ask for more, never for less."""
    peers: PeersSettings = PeersSettings()
    """What other devices may learn from this one, and it from them."""
    conditions_file: str | None = None
    """JSON that replaces the probes while it exists; relative paths start at the agent's home."""
    max_samples: Annotated[int, Meta(ge=1)] = 100_000
    """Samples kept; the oldest go first."""
    threads: Annotated[int, Meta(ge=1, le=64)] = 1
    """Processor threads of one train step."""
    processor_share: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Share of the time that training keeps its threads busy; it rests between steps, and the device stays cool."""
    chunk_bytes: Annotated[int, Meta(ge=1024, le=16 << 20)] = 256 << 10
    """Size of one piece of an upload, in bytes; what a broken link can cost at most."""
    checkpoint_s: Annotated[float, Meta(gt=0, le=3600)] = 5.0
    """Seconds of training that a loss of power can cost at most."""
    spare_bytes: Annotated[int, Meta(ge=0)] = 256 << 20
    """Free space, in bytes, below which what can be fetched again is removed once it has served."""
    local_api: bool = True
    """Serve the local API on 127.0.0.1."""
    local_api_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Its port; 0: one that is free, written with the token to local-api.json."""
    ca_file: str | None = None
    """Certificates (PEM) that HTTPS trusts instead of the system's, for a platform with a private authority."""


def load_config(path: Path) -> Config:
    """The settings in `path`; the defaults when there is no such file.

    Raises AgentError ``config.invalid``.
    """
    import tomllib  # only here: most commands run without a settings file

    try:
        return from_values(tomllib.loads(path.read_text(encoding="utf-8")), Config)
    except FileNotFoundError:
        return Config()
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise AgentError("config.invalid", f"{path}: {error}", exit_code=Exit.BAD_CONFIG) from error


TEMPLATE = """\
# Settings of this device. Remove a '#' to change one; the values shown are the defaults.

# Samples kept on this device; the oldest go first.
# max_samples = 100000

# Processor threads that training may use.
# threads = 1

# Share of the time that training keeps them busy; less keeps the device cool and quick, and takes longer.
# processor_share = 1.0

# The local API on 127.0.0.1 for programs on this device; port 0 takes a free one (see local-api.json).
# local_api = true
# local_api_port = 0

# Bytes sent in one piece of an upload, and seconds between checkpoints of training.
# chunk_bytes = 262144
# checkpoint_s = 5.0

# Bytes of free space below which the agent removes downloads that it could fetch again.
# spare_bytes = 268435456

# Certificates (PEM) to trust instead of the system's, for a platform with a private authority.
# ca_file = "/etc/ssl/private-ca.pem"

# A JSON file that replaces the probes while it exists, for example
# {"charging": "yes", "network": "wifi", "idle": "yes", "temperature_c": 40.0}
# conditions_file = "conditions.json"

# What you ask before this device trains. A federation can ask for more, never for less.
[policy]
# charging = true              # only on mains or charging
# unmetered = true             # only on Wi-Fi or Ethernet that is not metered
# idle = false                 # only while nobody uses the device
# max_temperature_c = 70.0     # hottest at which it trains
# hours = [22, 7]              # local hours [from, to) in which it trains
# unknown = "refuse"           # or "allow": when the device cannot tell

# What this device may have to do with others of its federation; samples never leave it.
[peers]
# tell = "counts"              # of its data: "counts" by class, "rounded" counts, only "classes", or "nothing"
# help_others = true           # send parts of its model to devices that ask for help
# ask = true                   # ask for help when its personal model fails
"""
