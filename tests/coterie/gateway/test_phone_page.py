from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from coterie.gateway.phone_headers import HEADERS, add_phone_headers
from coterie.gateway.phone_page import FILES


@pytest.fixture
def built(tmp_path: Path, settings: Settings) -> None:
    for file, _ in FILES.values():
        (tmp_path / file).write_text(f"content of {file}")
    settings.PHONE_PAGE = tmp_path / "index.html"


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("name", FILES)
def test_anybody_gets_the_page_with_what_training_needs(name: str) -> None:
    answer = Client().get(f"/phone/{name}")
    file, content_type = FILES[name]
    assert (answer.status_code, answer.content.decode()) == (200, f"content of {file}")
    assert answer["Content-Type"] == content_type
    assert "no-cache" in answer["Cache-Control"]
    assert {header: answer[header] for header in HEADERS} == HEADERS
    assert "'wasm-unsafe-eval'" in answer["Content-Security-Policy"]
    assert "'unsafe-inline'" not in answer["Content-Security-Policy"]


def test_without_a_build_there_is_no_page(settings: Settings, tmp_path: Path) -> None:
    settings.PHONE_PAGE = tmp_path / "none" / "index.html"
    assert Client().get("/phone/").status_code == 404


def test_its_static_files_have_the_same_headers_and_no_others_have() -> None:
    of_phone: dict[str, str] = {}
    add_phone_headers(of_phone, "worker.js", "/static/phone/assets/worker.js")
    assert of_phone == HEADERS
    of_console: dict[str, str] = {}
    add_phone_headers(of_console, "index.js", "/static/console/assets/index.js")
    assert of_console == {}
