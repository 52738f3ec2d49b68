"""Without the extra the owner is told what to install."""

import sys

import pytest

from coterie_agent.errors import AgentError, Exit
from coterie_agent.network_page.installed import check_installed


@pytest.mark.parametrize("package", ["cryptography", "segno"])
def test_without_a_package_the_owner_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    check_installed()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(AgentError, match=rf"needs {package}: pip install 'coterie-agent\[page\]'") as refusal:
        check_installed()
    assert (refusal.value.code, refusal.value.exit_code) == ("page.not_installed", Exit.BAD_CONFIG)
