#!/usr/bin/env bash
# The Python package: built as `pip install` builds it, in fresh environments, with everything it works with
# (PyTorch, Transformers, notebooks), and on a second Python, where there is one, without them.
# Needs Python 3 with venv and a package index; skips with a line where they are not to be had.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv "$work/venv" >/dev/null 2>&1 || skip "python3 with venv is not installed"
"$work/venv/bin/pip" wheel --quiet --no-deps --wheel-dir "$work" ./crates/python >"$work/pip.log" 2>&1 || {
    tail -n 30 "$work/pip.log"
    skip "the wheel cannot be built"
}
wheel=$(echo "$work"/*.whl)
"$work/venv/bin/pip" install --quiet "$wheel[test]" >"$work/pip.log" 2>&1 ||
    skip "PyTorch and Transformers cannot be installed ($(tail -n 1 "$work/pip.log"))"
bin=$work/venv/bin

(cd crates/python && "$bin/ruff" check --quiet . && "$bin/ruff" format --check --quiet .)
(cd crates/python/python && "$bin/mypy" --config-file ../pyproject.toml)
(cd "$work" && "$bin/python" -m mypy.stubtest kuramoto._native)
(cd crates/python && "$bin/python" -m pytest -p no:cacheprovider)

# One wheel serves every version: another one than that of the tests above, from the path or from pyenv.
own=$("$bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
second() {
    local version python
    for version in 3.9 3.14 3.13 3.12 3.10; do
        [ "$version" != "$own" ] || continue
        for python in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python; do
            if "$python" -c 'import venv' 2>/dev/null; then
                echo "$python"
                return
            fi
        done
    done
}
python=$(second)
if [ -z "$python" ]; then
    echo "there is no second Python to try"
    exit 0
fi
"$python" -m venv "$work/other"
"$work/other/bin/pip" install --quiet "$wheel" pytest >"$work/pip.log" 2>&1 ||
    skip "packages of $python cannot be installed ($(tail -n 1 "$work/pip.log"))"
"$work/other/bin/python" --version
(cd crates/python && "$work/other/bin/python" -m pytest -p no:cacheprovider \
    tests/test_model.py tests/test_hooks.py tests/test_training.py tests/test_bad_input.py)
