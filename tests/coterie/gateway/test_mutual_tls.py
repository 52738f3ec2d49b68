"""Mutual TLS over real sockets: the platform's own server, and the agent's own connections."""

import asyncio
import hashlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from django.utils import timezone
from pytest_django.fixtures import Settings

from coterie.config.tls import ServerTls
from coterie.fleet.authority import present_authority
from coterie.fleet.certificates import issue_certificate
from coterie.fleet.models import Device, DeviceCertificate
from coterie.fleet.services import EnrolledDevice, revoke_device
from coterie.gateway.door.connections import Connections
from coterie.gateway.door.limits import LIMITS
from coterie.gateway.door.protocol import guarded
from coterie.gateway.door.socket_protocol import guarded_sockets
from coterie.gateway.threads import in_thread
from coterie_agent.certificate_request import certificate_request
from coterie_agent.certifying import Certifying
from coterie_agent.home import Home
from coterie_agent.link.failure import Refused, Unreachable
from coterie_agent.link.http import HttpLink
from coterie_agent.link.socket import SocketLink
from coterie_agent.store.certificates import CertificateFiles
from coterie_wire.certificates import AskCertificate, proven_content
from coterie_wire.conditions import Conditions
from coterie_wire.messages import Capabilities, CheckIn, Directive
from coterie_wire.version import PROTOCOL
from tests.coterie.gateway.conftest import application
from tests.server_certificate import server_certificate

pytestmark = pytest.mark.django_db(transaction=True)
ABLE = Capabilities(cores=1, memory_bytes=1, machine="any", agent="0.3.0", certifies=True)
SAYS = CheckIn(protocol=PROTOCOL, conditions=Conditions(), capabilities=ABLE)
DAYS = 30


class Site(NamedTuple):
    """The server, and what it shows."""

    url: str
    certificate: Path
    tls: ServerTls


@pytest.fixture
async def site(tmp_path: Path, settings: Settings) -> AsyncIterator[Site]:
    """The device API behind the platform's own TLS, which demands certificates."""
    settings.DEVICE_CERTIFICATES, settings.DEVICE_CERTIFICATE_DAYS = "required", DAYS
    settings.STATE = tmp_path
    tls = ServerTls(server_certificate(tmp_path), None)
    await in_thread(tls.refresh)
    connections = Connections(LIMITS, descriptors=1000)
    config = uvicorn.Config(
        application,
        http=guarded(connections, LIMITS),
        ws=guarded_sockets(connections, LIMITS),
        ssl_context_factory=lambda _config, _default: tls.context,
        lifespan="off",
        log_config=None,
        proxy_headers=False,
    )
    server = uvicorn.Server(config)  # without our own end, which would end sockets of this whole process
    listener = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(server.serve([listener]))
    try:
        yield Site(f"https://127.0.0.1:{listener.getsockname()[1]}", tmp_path / "server.pem", tls)
    finally:
        for connection in tuple(server.server_state.connections):
            connection.transport.abort()  # an agent keeps it, and hears no farewell while it asks nothing
        server.should_exit = True
        await serving


class Agent:
    """What of an agent talks to the platform."""

    def __init__(self, site: Site, home: Home, joined: EnrolledDevice) -> None:
        home.create()
        self.site, self.home, self.files, self.device = site, home, CertificateFiles(home), joined.device
        self.credential = joined.credential
        self.link = HttpLink(
            site.url,
            credential=joined.credential,
            record_sent=lambda _what, _bytes: None,
            ca_file=str(site.certificate),
            certificate=home.certificate,
        )
        self.certifying = Certifying(self.files, self.link)

    async def check_in(self) -> Directive:
        return await asyncio.to_thread(lambda: self.link.call(SAYS, Directive))

    async def certify(self) -> bool:
        return await asyncio.to_thread(self.certifying.certify)

    def heals(self) -> None:
        """From now on it asks for another certificate where the one that it shows is refused, as a running agent."""
        self.link.certify = Certifying(self.files, self.link).certify

    async def check_in_by_socket(self) -> Directive:
        def call() -> Directive:
            link = SocketLink(
                self.site.url,
                credential=self.credential,
                on_wake=lambda: None,
                on_close=lambda: None,
                record_sent=lambda _what, _bytes: None,
                ca_file=str(self.site.certificate),
                certificate=self.home.certificate,
            )
            try:
                return link.call(SAYS, Directive)
            finally:
                link.close()

        return await asyncio.to_thread(call)


@pytest.fixture
async def agent(site: Site, enrol: Callable[..., EnrolledDevice], tmp_path: Path) -> Agent:
    joined = await in_thread(lambda: enrol(at=timezone.now()))
    return Agent(site, Home(tmp_path / "agent"), joined)


async def refusal(asked: "asyncio.Future[Directive] | object") -> str:
    """The code with which the platform refuses."""
    with pytest.raises(Refused) as caught:
        await asked  # type: ignore[misc]  # whatever can be awaited
    return caught.value.code


async def test_a_device_enrols_checks_in_and_renews(agent: Agent) -> None:
    assert await refusal(agent.check_in()) == "fleet.certificate_missing"
    assert await agent.certify()
    assert not (await agent.check_in()).renew_certificate
    assert not (await agent.check_in_by_socket()).renew_certificate
    before = agent.home.certificate.read_bytes()
    ends = timezone.now() + timedelta(days=DAYS * 0.25)
    await in_thread(lambda: Device.objects.update(certificate_until=ends))
    assert (await agent.check_in()).renew_certificate
    await in_thread(lambda: DeviceCertificate.objects.update(issued_at=timezone.now() - timedelta(days=DAYS * 0.75)))
    agent.certifying = Certifying(agent.files, agent.link)
    assert await agent.certify()
    assert agent.home.certificate.read_bytes() != before == agent.home.former_certificate.read_bytes()
    assert not (await agent.check_in_by_socket()).renew_certificate
    assert not (await agent.check_in()).renew_certificate


async def test_a_stolen_credential_opens_neither_requests_nor_sockets(
    agent: Agent, enrol: Callable[..., EnrolledDevice], tmp_path: Path
) -> None:
    assert await agent.certify()
    other = Agent(agent.site, Home(tmp_path / "thief"), await in_thread(lambda: enrol(at=timezone.now())))
    assert await other.certify(), "the thief is a device itself"
    bare = Agent(agent.site, Home(tmp_path / "bare"), EnrolledDevice(agent.device, agent.credential))
    assert await refusal(bare.check_in()) == "fleet.certificate_missing"
    with pytest.raises(Unreachable, match="403"):
        await bare.check_in_by_socket()
    assert not await bare.certify()
    other.link.use_credential(agent.credential)
    assert await refusal(other.check_in()) == "fleet.certificate_unknown"
    other.credential = agent.credential
    with pytest.raises(Unreachable, match="403"):
        await other.check_in_by_socket()
    assert (await agent.check_in()).check_in_s > 0, "the device goes on"


async def test_a_revoked_device_is_refused_at_once(agent: Agent) -> None:
    assert await agent.certify()
    await agent.check_in()
    await in_thread(lambda: revoke_device(device=agent.device, now=timezone.now()))
    assert await refusal(agent.check_in()) == "fleet.revoked"


async def test_a_device_whose_certificate_has_expired_is_given_another(agent: Agent) -> None:
    """Whatever the device's clock says."""
    key = agent.files.draw_key()
    ask = AskCertificate(request=certificate_request(key))
    long_ago = timezone.now() - timedelta(days=DAYS, hours=1)
    chain = await in_thread(lambda: issue_certificate(device=agent.device, message=ask, now=long_ago))
    agent.files.use(key, tuple(chain))
    assert await refusal(agent.check_in()) == "fleet.certificate_expired"
    agent.heals()
    with pytest.raises(Unreachable, match="another certificate"):
        await agent.check_in()
    assert (await agent.check_in()).check_in_s > 0


async def test_one_of_another_authority_is_refused_by_tls_and_replaced(agent: Agent, settings: Settings) -> None:
    """As after the platform's key was lost: the server cuts the connection, again and again."""
    assert await agent.certify()
    await in_thread(lambda: DeviceCertificate.objects.update(issued_at=timezone.now() - timedelta(days=1)))
    settings.DEVICE_CA_KEY = "0f" * 32
    key = agent.files.draw_key()
    authority = await in_thread(lambda: present_authority(now=timezone.now()))
    now = timezone.now()
    request = x509.load_der_x509_csr(certificate_request(key))
    strange = authority.certify(
        request.public_key(),
        device=agent.device.pk,
        now=now,
        until=now + timedelta(days=1),  # type: ignore[arg-type]
    )
    agent.files.use(key, (strange.public_bytes(Encoding.DER),))
    agent.heals()
    for _ in range(3):
        assert not agent.home.next_certificate_key.exists()
        with pytest.raises(Unreachable, match="does not answer"):
            await agent.check_in()
    await in_thread(agent.site.tls.refresh)  # the server learns of the authority that signs now
    assert (await agent.check_in()).check_in_s > 0


async def test_the_server_takes_a_renewed_certificate_of_its_own_while_it_runs(site: Site, agent: Agent) -> None:
    def shown() -> str:
        return hashlib.sha256(ssl.get_server_certificate(("127.0.0.1", port)).encode()).hexdigest()

    port = int(site.url.rpartition(":")[2])
    before = await asyncio.to_thread(shown)
    server_certificate(site.certificate.parent)
    await in_thread(site.tls.refresh)
    assert await asyncio.to_thread(shown) != before


async def test_what_a_stranger_writes_into_the_header_of_proxies_means_nothing(agent: Agent) -> None:
    assert await agent.certify()
    held = x509.load_pem_x509_certificates(agent.home.certificate.read_bytes())[0]
    header = f":{ssl.PEM_cert_to_DER_cert(held.public_bytes(Encoding.PEM).decode()).hex()}:"
    agent.link._headers["Client-Cert"] = header
    agent.home.certificate.unlink()
    assert await refusal(agent.check_in()) == "fleet.certificate_missing"


def test_the_proof_is_of_the_request_alone() -> None:
    assert proven_content(b"a") != proven_content(b"b")
