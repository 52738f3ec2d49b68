"""The link has its secret where servers do not see it, and a code that a camera reads."""

import re
from pathlib import Path

import segno

from coterie_agent.config import PageSettings
from coterie_agent.home import Home
from coterie_agent.network_page.link import LINK_S, find_page, offer_link, qr_lines
from coterie_agent.store.opened import open_store

DARK = {" ": (1, 1), "▀": (0, 1), "▄": (1, 0), "█": (0, 0)}
"""By character, whether the upper and the lower module are dark."""


def test_a_link_lets_in_whoever_opens_it_first(tmp_path: Path) -> None:
    with open_store(Home(tmp_path)) as store:
        first = offer_link(store.phones, "192.168.1.20:8719", "AB", now=0.0)
        second = offer_link(store.phones, "192.168.1.20:8719", "AB", now=0.0)
        secrets = [link.url.removeprefix("https://192.168.1.20:8719/#") for link in (first, second)]
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", secret) for secret in secrets)
        assert not store.phones.take(secrets[0], "phone", now=1.0, until=9e9)
        assert not store.phones.take(secrets[1], "phone", now=LINK_S, until=9e9)
        assert store.phones.take(secrets[1], "phone", now=LINK_S - 1, until=9e9)
    assert first.url in "\n".join(first.lines(coloured=False))


def test_the_page_is_found_where_it_will_be(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.create()
    settings = PageSettings(on_network=True, address="127.0.0.1", port=9000)
    found = find_page(home, settings, "https://platform.example")
    assert found.authority == "127.0.0.1:9000" and found == find_page(home, settings, "https://platform.example")


def test_the_code_is_that_of_the_link() -> None:
    text = "https://192.168.1.20:8719/#" + "x" * 43
    rows = [row for line in qr_lines(text, coloured=False) for row in zip(*(DARK[one] for one in line), strict=True)]
    wanted = [tuple(bool(module) for module in row) for row in segno.make_qr(text, error="l").matrix_iter(border=2)]
    assert [tuple(map(bool, row)) for row in rows][: len(wanted)] == wanted
    assert max(map(len, qr_lines(text, coloured=False))) < 80


def test_coloured_it_is_light_on_black_whatever_the_terminals_colours() -> None:
    plain, coloured = qr_lines("a", coloured=False), qr_lines("a", coloured=True)
    assert coloured == [f"\x1b[97;40m{line}\x1b[0m" for line in plain]
