# Sourced by the extra test layers: what to say where something cannot be had, and a Python with packages.

skip() {
    echo "skipped: $1"
    # Continuous integration has everything: what is skipped there was not tested.
    [ "${CI:-}" != true ] || exit 1
    exit 0
}

# python_with FOLDER PACKAGE..: a virtual environment in FOLDER/venv
python_with() {
    local folder=$1
    shift
    python3 -m venv "$folder/venv" >/dev/null 2>&1 || skip "python3 with venv is not installed"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$@" >"$folder/pip.log" 2>&1 ||
        skip "$* cannot be installed ($(tail -n 1 "$folder/pip.log"))"
}
