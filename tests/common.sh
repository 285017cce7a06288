# Sourced by the extra test layers: what to say where something cannot be had, packages of the system, and a
# Python with packages.

skip() {
    echo "skipped: $1"
    # Continuous integration has everything: what is skipped there was not tested.
    [ "${CI:-}" != true ] || exit 1
    exit 0
}

# packages PACKAGE..: with the system's package manager, which nothing but continuous integration may change
packages() {
    [ "${CI:-}" = true ] || skip "this needs Debian's packages $*, which only continuous integration installs"
    { apt-get update && apt-get install -y --no-install-recommends "$@"; } >/dev/null 2>&1 ||
        skip "$* cannot be installed"
}

# python_with FOLDER PACKAGE..: a virtual environment in FOLDER/venv
python_with() {
    local folder=$1
    shift
    python3 -m venv "$folder/venv" >/dev/null 2>&1 || skip "python3 with venv is not installed"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$@" >"$folder/pip.log" 2>&1 ||
        skip "$* cannot be installed ($(tail -n 1 "$folder/pip.log"))"
}
