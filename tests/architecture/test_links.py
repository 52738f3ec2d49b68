"""What the documents link to is there: files, and headings of Markdown files as GitHub names them."""

import re
import subprocess

import pytest

from tests.system.processes import ROOT

TRACKED = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
DOCUMENTS = sorted(TRACKED.split())


def prose_of(text: str) -> str:
    """Without blocks and spans of code: what stands there is no link."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def links_of(text: str) -> list[str]:
    written = re.findall(r"\]\(([^)\s]+)\)", prose_of(text)) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
    return [link for link in written if not re.match(r"[a-z]+:", link)]


def anchors_of(text: str) -> set[str]:
    """A heading's words in small letters, joined by hyphens, without punctuation; repeated ones are numbered."""
    anchors: set[str] = set()
    without_blocks = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ +(.+)$", without_blocks, flags=re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
        again = 1
        anchor = slug
        while anchor in anchors:
            anchor, again = f"{slug}-{again}", again + 1
        anchors.add(anchor)
    return anchors


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    path = ROOT / document
    text = path.read_text(encoding="utf-8")
    broken = []
    for link in links_of(text):
        target, _, anchor = link.partition("#")
        file = path.parent / target if target else path
        if not file.exists():
            broken.append(f"{link}: no such file")
        elif anchor and file.suffix == ".md" and anchor not in anchors_of(file.read_text(encoding="utf-8")):
            broken.append(f"{link}: no such heading")
    assert broken == []


def test_a_broken_link_and_a_repeated_heading_are_seen() -> None:
    assert links_of("[a](b.md#c) `[not](this.md)` [far](https://example.org)") == ["b.md#c"]
    assert anchors_of("# Two words, `code`\n## Same\n## Same\n") == {"two-words-code", "same", "same-1"}
