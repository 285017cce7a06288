#!/usr/bin/env bash
# The graphics engine without a graphics card: its tests on SwiftShader, the software device in Debian's chromium, and on
# lavapipe, that of Mesa. With --card they run on the first device of this machine instead.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

cargo clippy --release --quiet -p kuramoto-gpu --features wgpu --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps -p kuramoto-gpu --features wgpu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Mesa looks for a desktop there.
export XDG_RUNTIME_DIR=$work

run() { # run NAME: the tests on the devices that the environment names
    cargo test --release --quiet -p kuramoto-gpu --features wgpu -- --nocapture >"$work/$1.log" 2>&1 || {
        tail -n 60 "$work/$1.log"
        echo "failed: $1"
        exit 1
    }
    grep --quiet "Findings" "$work/$1.log" || { echo "failed: $1 was not tested"; exit 1; }
    grep --only-matching "[^.].*Findings.*" "$work/$1.log"
    echo "ok: $1"
}

if [ "${1:-}" = --card ]; then
    run "the first device"
    exit 0
fi

chromium=/usr/lib/chromium
lavapipe=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json
if [ ! -e "$chromium/libvk_swiftshader.so" ] || [ ! -e "$lavapipe" ]; then
    packages chromium mesa-vulkan-drivers libvulkan1
fi

# The loader that comes with Chromium, and nothing but its device.
LD_LIBRARY_PATH=$chromium VK_ICD_FILENAMES=$chromium/vk_swiftshader_icd.json run SwiftShader
VK_ICD_FILENAMES=$lavapipe run lavapipe
