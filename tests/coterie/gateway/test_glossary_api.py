"""Programs and the console read the glossary from the platform."""

import pytest
from rest_framework.test import APIClient

from coterie.core.glossary import GLOSSARY

pytestmark = pytest.mark.django_db


def test_gives_every_term_with_its_meaning(api: APIClient) -> None:
    assert api.get("/api/glossary/").json() == [term._asdict() for term in GLOSSARY]
