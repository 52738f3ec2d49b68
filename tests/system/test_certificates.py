"""A platform that ends TLS itself and demands certificates, and a real agent that joins it and renews."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from coterie_agent.home import Home
from tests.server_certificate import server_certificate
from tests.system.conftest import Prepared
from tests.system.eventually import eventually
from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform
from tests.system.real_agent import UNPLUGGED, RealAgent


def test_an_agent_joins_runs_and_renews_where_no_credential_alone_opens_anything(
    prepared: Prepared, tmp_path: Path
) -> None:
    shutil.copytree(prepared.untouched, tmp_path / "state")
    certificate = server_certificate(tmp_path)
    platform = Platform(tmp_path / "state", tls_certificate=str(certificate), device_certificates="required")
    try:
        platform.start()
        assert platform.url.startswith("https://")
        with OperatorClient(platform.url, prepared.seeded.token, ca_file=certificate) as operator:
            token = operator.enrolment_token()
            agent = RealAgent(tmp_path / "kiosk", platform.url, token, settings=f'ca_file = "{certificate}"\n')
            agent.set_conditions(UNPLUGGED)
            home = Home(agent.home)
            first = home.certificate.read_bytes()
            agent.start()
            try:
                known = eventually(lambda: _as_seen(operator, agent))
                assert known["certificate_until"]
                with closing(sqlite3.connect(tmp_path / "state" / "coterie.sqlite3", timeout=20)) as tables, tables:
                    tables.execute("UPDATE fleet_devicecertificate SET issued_at = datetime('now', '-29 days')")
                    tables.execute("UPDATE fleet_device SET certificate_until = datetime('now', '+1 day')")
                operator.post(f"/devices/{agent.id}/resume/")  # wakes it
                eventually(lambda: home.certificate.read_bytes() != first)
                at = operator.get(f"/devices/{agent.id}/")["last_seen_at"]
                eventually(lambda: operator.get(f"/devices/{agent.id}/")["last_seen_at"] > at)
                assert operator.get(f"/devices/{agent.id}/")["certificate_until"] > known["certificate_until"]
            finally:
                agent.kill()
    finally:
        platform.stop()


def _as_seen(operator: OperatorClient, agent: RealAgent) -> dict[str, str] | None:
    device = operator.get(f"/devices/{agent.id}/")
    return device if device["present"] else None
