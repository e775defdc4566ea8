"""Real documentation sets to measure on: Debian packages, fetched once into benchmarks/.cache."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A folder of HTML in a Debian package, and the page a crawl begins with."""

    package: str
    folder: str
    seed: str


PYTHON = Corpus(package="python3.11-doc", folder="usr/share/doc/python3.11/html", seed="/index.html")
POSTGRESQL = Corpus(
    package="postgresql-doc-15", folder="usr/share/doc/postgresql-doc-15/html", seed="/index.html"
)


def prepare_corpus(corpus: Corpus) -> Path:
    """The corpus's folder, downloaded and unpacked when it is not there yet (apt-get and dpkg needed)."""
    root = CACHE / corpus.package
    folder = root / corpus.folder
    if not folder.is_dir():
        root.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "-qq", corpus.package], cwd=root, check=True)
        package = next(root.glob(f"{corpus.package}_*.deb"))
        subprocess.run(["dpkg", "-x", package, root], check=True)
    return folder
