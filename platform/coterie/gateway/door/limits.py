"""How much of the platform one connection, one address and one device may use."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of one server process; not settings: for others, run a proxy in front or more processes."""

    head_bytes: int = 32 << 10
    """Request line and headers together; also what a chunked body has beside its content."""
    url_bytes: int = 8 << 10
    header_fields: int = 100
    head_s: float = 10.0
    """From the first byte of a head, or the connection, to the head's end."""
    pipelined: int = 16
    """Requests that may wait behind one that is being answered; browsers, proxies and agents send none."""
    body_bytes: int = 64 << 10
    """Of a body whose sender is not authenticated."""
    body_silence_s: float = 20.0
    """Longest gap in a body: a device that lost its network leaves a connection that never closes by itself."""
    least_bytes_per_s: int = 1024
    """Least average rate of a body or an answer after `patience_s`; slower ones are cut off and resume where they can.
    """
    patience_s: float = 60.0
    linger_s: float = 5.0
    """How long the rest of a refused body is read and dropped, so that its sender can read the refusal."""
    linger_bytes: int = 8 << 20
    connections_per_address: int = 256
    """Unauthenticated connections of an address: all except the sockets of devices and consoles."""
    reserved_descriptors: int = 256
    """For files, databases and children, or half of all where there are few; every other may be a connection."""
    socket_frames: int = 64
    """Messages of a socket that wait to be answered."""
    fragments: int = 1024
    """Parts of one message."""
    site_at_once: int = 12
    """Requests with known credentials that Django answers at the same time, each on its own thread."""
    site_each: int = 8
    """Of these, for one credential."""
    anonymous_at_once: int = 6
    """The same for requests without valid credentials, counted separately: authenticated requests never wait behind
    them.
    """
    anonymous_each: int = 4
    """Of these, for one address."""
    site_wait_s: float = 10.0
    """How long a request waits for Django."""
    sockets_per_device: int = 4
    """An old socket whose network was lost is noticed within a minute; until then it counts."""
    requests_per_device: int = 4
    """Requests of one device that are answered at the same time; more wait."""
    requests_waiting: int = 16
    """Of one device, including those being answered: an agent sends two or three at the same time, and waits for the
    answers.
    """
    refusals_share: float = 0.1
    """Share of one core that refused requests may take in the long run, all senders together."""
    refusals_allowance_s: float = 0.25
    """The debt above which a sender's next requests are rejected at once: some fifty requests that Django refuses."""
    guesses_per_minute: int = 120
    """Unknown credentials and enrolments from one address."""


LIMITS = Limits()
