"""The output of a cell: what its script gets, and what is there without it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tbcore_jupyter.frame import Frame
from tbcore_jupyter.servers import Server


def html_of(view: str = "", **server: Any) -> tuple[str, dict[str, Any]]:
    """The HTML of an output, and the arguments of its script."""
    values = {"process": None, "port": 6007, "path": "/secret/", **server}
    text = Frame(Server(**values), view=view, height=500)._repr_html_()
    arguments = re.findall(r"\}\)\((\{.*\})\);\n</script>", text)
    return text, json.loads(arguments[0])


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TENSORBOARD_PROXY_URL", raising=False)


def test_without_its_script_the_output_has_the_link_and_the_hint() -> None:
    """Notebooks that are not trusted do not run scripts."""
    text, arguments = html_of(view="scalars")
    assert '<a href="http://localhost:6007/secret/#scalars"' in text
    assert "<code>ssh -L 6007:localhost:6007 " in text
    assert "<iframe" in text
    assert " src=" not in text
    assert arguments["hash"] == "#scalars"
    assert f'id="{arguments["id"]}"' in text
    assert html_of()[1]["id"] != arguments["id"]
    assert '<a href="http://127.0.0.2:6007/secret/"' in html_of(host="127.0.0.2")[0]


@pytest.mark.parametrize(
    ("variable", "proxy", "says_why"),
    [
        ("https://hub/user/me/proxy/%PORT%/", "https://hub/user/me/proxy/6007/", False),
        ("/user-redirect/proxy/6007/", "/user-redirect/proxy/6007/", False),
        ("/user-redirect/proxy/6006/", "", True),
    ],
)
def test_the_variable_of_the_proxy_is_used_if_it_leads_to_the_server(
    monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str, says_why: bool
) -> None:
    """Some images name port 6006, which may be taken."""
    monkeypatch.setenv("TENSORBOARD_PROXY_URL", variable)
    text, arguments = html_of()
    assert arguments["proxy"] == proxy
    assert (f"is {variable}, but the port of this server is 6007" in text) is says_why


def test_a_view_cannot_end_the_script() -> None:
    view = "text&filter=</script><script>alert(1)</script>"
    text, arguments = html_of(view=view)
    assert text.count("</script>") == 1
    assert arguments["hash"] == f"#{view}"
