"""The platform's own pages in other languages: each text has a translation, compiled as it stands in the catalogue."""

import gettext
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from tests.system.processes import ROOT

PLATFORM = Path(settings.LOCALE_PATHS[0]).parent
TRANSLATED = re.compile(
    r"""{% translate "(?P<short>(?:[^"])+)" %}|{% blocktranslate[^%]*%}(?P<block>.+?){% endblocktranslate %}"""
)
ENTRY = re.compile(r'^msgid "(.+)"\nmsgstr "(.*)"$', re.MULTILINE)
LANGUAGES = [code for code, _name in settings.LANGUAGES if code != "en"]


def _texts() -> Iterator[str]:
    for template in PLATFORM.glob("*/templates/**/*.html"):
        for found in TRANSLATED.finditer(template.read_text()):
            yield found["short"] or re.sub(r"{{ (\w+) }}", r"%(\1)s", found["block"])


def _catalogue(language: str) -> dict[str, str]:
    source = PLATFORM / "locale" / language / "LC_MESSAGES" / "django.po"
    return {words.replace('\\"', '"'): said.replace('\\"', '"') for words, said in ENTRY.findall(source.read_text())}


def test_the_console_is_built_in_the_same_languages() -> None:
    named = json.loads((ROOT / "frontend/console/language/languages.json").read_text())
    assert list(named.items()) == settings.LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_of_the_pages_has_a_translation_and_no_other_has(language: str) -> None:
    catalogue = _catalogue(language)
    assert set(_texts()) == set(catalogue)
    assert all(catalogue.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_compiled_catalogue_is_that_of_the_source(language: str) -> None:
    path = PLATFORM / "locale" / language / "LC_MESSAGES" / "django.mo"
    with path.open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for words, said in _catalogue(language).items():
        assert compiled.gettext(words) == said, "compile it: make language"


@pytest.mark.django_db
@pytest.mark.parametrize(("asked", "button"), [("de-AT", "Anmelden"), ("en", "Sign in"), ("fr", "Sign in")])
def test_one_signs_in_in_ones_own_language(client: Client, asked: str, button: str) -> None:
    page = client.get("/sign-in/", headers={"Accept-Language": asked}).content.decode()
    assert f"<button>{button}</button>" in page
    assert f'<html lang="{"de" if button == "Anmelden" else "en"}">' in page
