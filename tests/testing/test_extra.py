"""Without the extra, tests are told what to install."""

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "packages"),
    [
        ("mudroom.testing.authority", ("trustme",)),
        ("mudroom.testing.http2", ("h2.config", "h2.connection", "h2.errors", "h2.events", "h2.exceptions")),
    ],
)
def test_a_module_whose_package_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, module: str, packages: tuple[str, ...]
) -> None:
    monkeypatch.delitem(sys.modules, module, raising=False)
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ImportError, match=r"needs the package (trustme|h2\S*), .* pip install 'mudroom\[testing\]'"
    ):
        importlib.import_module(module)
