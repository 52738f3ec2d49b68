"""The REST API never fails, whatever is sent to it: ``python -m pytest -n 0 tests/fuzz/api.py``; CI runs it.

schemathesis makes requests from the OpenAPI document, good and bad ones; only an answer that is a fault of the
platform, or that is no JSON where JSON was promised, counts against it.
"""

import os
from urllib.parse import quote, urlencode

import msgspec
import pytest
import schemathesis
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient
from schemathesis.core import NotSet

from coterie.accounts.services import create_operator
from coterie.alerts.models import Channel, Rule
from coterie.alerts.services import create_channel, create_rule
from coterie.federations.models import Federation
from coterie.fleet.models import Device, EnrolmentToken
from coterie.fleet.services import create_enrolment_token
from coterie.registry.models import ModelPair, ModelVersion
from coterie.rounds.models import Assignment, Round
from coterie.webhooks.models import Event, Webhook
from coterie.webhooks.services import create_webhook
from tests.coterie.world import START, fleet_of, later, make_dataset, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "15"))
DOCUMENT = SchemaGenerator().get_schema(request=None, public=True)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = {
    f"{method} {path}": SCHEMA[path][method]
    for path, operations in DOCUMENT["paths"].items()
    for method in operations
    if method in ("get", "post", "patch", "put", "delete")
}
KNOWN = (Channel, Rule, Device, Federation, ModelPair, ModelVersion, Round, Assignment, EnrolmentToken, Webhook)


@pytest.fixture
def client() -> APIClient:
    """An administrator of a small fleet."""
    client = APIClient(raise_request_exception=False)
    client.force_authenticate(create_operator(username="ada").operator)
    pair = make_pair()
    make_version(pair)
    make_dataset()
    make_federation(pair, target_updates=2, min_updates=1)
    for device in fleet_of(2):
        device.check_in(later(0))
    create_enrolment_token(label="x", expires_at=later(60), now=START)
    channel = create_channel(name="x", kind=Channel.Kind.SLACK, url="https://8.8.8.8/", now=START).channel
    create_rule(name="x", kind=Rule.Kind.JOB_FAILED, channels=[channel.pk], now=START)
    create_webhook(name="x", url="https://8.8.8.8/", events=[Event.JOB_FAILED], now=START)
    return client


@pytest.mark.parametrize("name", OPERATIONS)
def test_is_never_at_a_loss(name: str, client: APIClient) -> None:
    operation = OPERATIONS[name]
    known = [*(str(pk) for model in KNOWN for pk in model.objects.values_list("pk", flat=True)), "1"]

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy(), key=st.sampled_from(known), real=st.booleans())
    def send(case: schemathesis.Case, key: str, real: bool) -> None:
        parameters = dict(case.path_parameters or {})
        if real:  # strangers' keys end at the first look-up
            parameters = dict.fromkeys(parameters, key)
        path = case.operation.path.format(**{name: quote(str(value), safe="") for name, value in parameters.items()})
        query = urlencode(dict(case.query or {}), doseq=True)
        body = b"" if isinstance(case.body, NotSet) else msgspec.json.encode(case.body, enc_hook=repr)
        answer = client.generic(case.method, path, body, content_type="application/json", QUERY_STRING=query)
        assert answer.status_code < 500, (case.method, path, query, body, answer.content[:500])
        if answer.status_code >= 400:
            assert answer["Content-Type"] == "application/problem+json", (case.method, path, answer.content[:200])
            assert answer.json()["code"]
        if answer.streaming:
            list(answer.streaming_content)  # the client closes what has been read to its end

    send()
