#!/bin/sh
# Resolve the dependencies of pyproject.toml and pin them by hash, for every platform and Python at once:
# run.txt for those who install mudroom alone, dev.txt for this checkout, bench.txt with the peers to measure against,
# archive-tools.txt for an environment apart with the programs of others that `make soak` holds our archives against.
set -eu
cd "$(dirname "$0")/.."
if ! command -v uv >/dev/null 2>&1; then
    echo "make lock needs uv; everything else works without it" >&2
    exit 1
fi
compile() {
    uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-annotate --custom-compile-command "make lock" "$@"
}
compile --output-file requirements/run.txt
compile --extra otel --extra testing --group dev --constraint requirements/run.txt --output-file requirements/dev.txt
compile --extra otel --extra testing --group dev --group bench --constraint requirements/dev.txt --output-file requirements/bench.txt
uv pip compile requirements/archive-tools.in --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-annotate --custom-compile-command "make lock" --output-file requirements/archive-tools.txt
