#!/bin/sh
# Make an environment of this checkout: requirements/make_venv.sh DIRECTORY [LOCK]
#
# uv when it can be had, else venv and pip; either installs what the lock (requirements/dev.txt, or the one named) pins by hash, then the
# package itself as an editable one, with the build backend that is pinned there too. An environment that is
# half made has no stamp, so that the next call starts anew.
set -eu
cd "$(dirname "$0")/.."
venv=$1
lock=${2:-requirements/dev.txt}

find_python() {
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    echo "mudroom needs Python 3.11 or later, and none was found; install it, or name one: make PYTHON=/path/to/python" >&2
    exit 1
}

python=$(find_python)
rm -rf "$venv"
if command -v uv >/dev/null 2>&1; then
    echo "making $venv with uv ($python)" >&2
    uv venv --quiet --python "$python" "$venv"
    VIRTUAL_ENV=$venv uv pip install --quiet --require-hashes -r "$lock"
    VIRTUAL_ENV=$venv uv pip install --quiet --no-deps --no-build-isolation -e .
else
    echo "making $venv with pip ($python); this takes about a minute" >&2
    if ! "$python" -m venv "$venv"; then
        rm -rf "$venv"
        echo "this Python cannot make environments; on Debian and Ubuntu: apt install python3-venv" >&2
        exit 1
    fi
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
fi
