#!/usr/bin/env bash
# The graphics engine without a graphics card: its tests on lavapipe, the software device of Mesa, and on SwiftShader, that
# in Debian's chromium; its kernels in the compiler for AMD cards; then the program itself on SwiftShader. With --card the
# tests run on the best device of this machine instead, or on the one whose number is in KURAMOTO_GPU; with --matrix-units
# on the newest lavapipe that Debian has, which offers cooperative matrices: it is unpacked into a folder, with the C
# library it needs, and takes half an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

cargo clippy --release --quiet -p kuramoto-gpu --features wgpu --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps -p kuramoto-gpu --features wgpu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Mesa looks for a desktop there.
export XDG_RUNTIME_DIR=$work

tested() { # tested NAME: the tests on the devices that the environment names
    cargo test --release --quiet -p kuramoto-gpu --features wgpu -- --nocapture >"$work/$1.log" 2>&1 || {
        tail -n 60 "$work/$1.log"
        echo "failed: $1"
        exit 1
    }
    grep --quiet "Findings" "$work/$1.log" || { echo "failed: $1 was not tested"; exit 1; }
    grep --only-matching "[^.].*Findings.*" "$work/$1.log"
}

run() { # run NAME: the tests, and a device whose memory is full
    tested "$1"
    # Software devices take memory from the process, which may have 8 GB here.
    (ulimit -v 8000000 && cargo test --release --quiet -p kuramoto-gpu --features wgpu --test training -- --ignored) \
        >"$work/$1-full.log" 2>&1 || {
        tail -n 30 "$work/$1-full.log"
        echo "failed: $1 with full memory"
        exit 1
    }
    echo "ok: $1"
}

if [ "${1:-}" = --card ]; then
    tested "the card"
    # Too slow for software devices. Filling a card's memory is left out: how drivers take that is not known, and a limit
    # of addresses would stop them from starting.
    cargo test --release --quiet -p kuramoto-gpu --features wgpu --test parity -- --ignored sizes_of_the_paper \
        >"$work/sizes.log" 2>&1 || { tail -n 30 "$work/sizes.log"; echo "failed: the models at the paper's sizes"; exit 1; }
    echo "ok: the card"
    exit 0
fi

if [ "${1:-}" = --matrix-units ]; then
    mkdir -p "$work"/apt/{lists/partial,cache/archives/partial,state} "$work/root"
    touch "$work/apt/status"
    mirror=$(apt-get indextargets --format '$(SITE)' 'Origin: Debian' | head -n 1)
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$work/apt/sources.list"
    apt=(apt-get -qq -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State="$work/apt/state" -o Dir::State::Lists="$work/apt/lists" -o Dir::State::status="$work/apt/status"
        -o Dir::Cache="$work/apt/cache" -o APT::Install-Recommends=false)
    "${apt[@]}" update
    "${apt[@]}" install --yes --download-only mesa-vulkan-drivers libvulkan1 libgcc-s1
    for package in "$work"/apt/cache/archives/*.deb; do dpkg-deb --extract "$package" "$work/root"; done
    libraries=$work/root/usr/lib/x86_64-linux-gnu
    printf '{"file_format_version": "1.0.0", "ICD": {"api_version": "1.3.0", "library_path": "%s"}}\n' \
        "$libraries/libvulkan_lvp.so" >"$work/lavapipe.json"
    export VK_ICD_FILENAMES=$work/lavapipe.json
    export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="$libraries/ld-linux-x86-64.so.2 --library-path $libraries"
    tested "lavapipe with matrix units"
    grep --quiet "matrix units: Findings" "$work/lavapipe with matrix units.log" || { echo "failed: it has none"; exit 1; }
    echo "ok: lavapipe with matrix units"
    exit 0
fi

chromium=/usr/lib/chromium
lavapipe=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json
validation=/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json
if [ ! -e "$chromium/libvk_swiftshader.so" ] || [ ! -e "$lavapipe" ] || [ ! -e "$validation" ]; then
    packages chromium mesa-vulkan-drivers libvulkan1 vulkan-validationlayers
fi

# With Khronos' validation of every call to Vulkan, on top of that of wgpu. The layer makes the file when it is loaded.
printf 'khronos_validation.%s\n' "debug_action = VK_DBG_LAYER_ACTION_LOG_MSG" "report_flags = error,warn" \
    "log_filename = $work/validation" >"$work/vk_layer_settings.txt"
VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation VK_LAYER_SETTINGS_PATH=$work VK_ICD_FILENAMES=$lavapipe run lavapipe
[ -e "$work/validation" ] || { echo "failed: Vulkan's validation did not run"; exit 1; }
[ ! -s "$work/validation" ] || { head -c 4000 "$work/validation"; echo "failed: Vulkan's validation objects"; exit 1; }
echo "ok: Vulkan's validation has no objection"

# Mesa's compiler for AMD cards needs no card: RX 7900, RX 6900, Vega and RX 480.
cargo build --release --quiet -p kuramoto-gpu --features wgpu --example compile
for card in gfx1100 navi21 vega10 polaris10; do
    VK_ICD_FILENAMES=${lavapipe/lvp/radeon} RADV_FORCE_FAMILY=$card MESA_SHADER_CACHE_DISABLE=true \
        "${CARGO_TARGET_DIR:-target}/release/examples/compile" >"$work/$card" 2>&1 ||
        { cat "$work/$card"; echo "failed: kernels do not compile for $card"; exit 1; }
    kernels=$(grep --count "Instructions" "$work/$card") spilled=$(grep --count "Spilled VGPRs [1-9]" "$work/$card" || true)
    [ "$kernels" -gt 50 ] && [ "$spilled" = 0 ] || { echo "failed: $spilled of $kernels kernels spill on $card"; exit 1; }
    grep --only-matching "Instructions [0-9]*" "$work/$card" | sort -k 2 -n | tail -n 1 |
        sed "s/Instructions \(.*\)/ok: $kernels kernels compile for $card, none spills registers, the longest has \1 instructions/"
done
# The loader that comes with Chromium, and nothing but its device.
export LD_LIBRARY_PATH=$chromium VK_ICD_FILENAMES=$chromium/vk_swiftshader_icd.json
run SwiftShader

cargo build --release --quiet --features gpu
cp "${CARGO_TARGET_DIR:-$PWD/target}/release/kuramoto" "$work/kuramoto"
cd "$work"
expect() { # expect TEXT CODE ARGUMENT..: the program says so and leaves with that code
    local text=$1 code=$2 said found=0
    shift 2
    said=$(./kuramoto "$@" 2>&1) || found=$?
    case "$found $said" in
    "$code "*"$text"*) ;;
    *)
        echo "failed: kuramoto $* gave $found, not $code, or did not say \"$text\":"
        echo "$said"
        exit 1
        ;;
    esac
}
small=(--budget 6000 --batch 4 --context 32 --validation-windows 8 --validate-every 3 --cache "$work/cache")
expect SwiftShader 0 devices --test
expect "is a software renderer, not a graphics card" 0 train "${small[@]}" --steps 6 --device gpu --out moved
expect "going on after step 6" 0 train --resume moved --steps 9 --cache "$work/cache"
expect "going on after step 9" 0 train --resume moved --steps 12 --device gpu:0 --cache "$work/cache"
[ "$(grep --count from_step moved/summary.json)" = 3 ] || { echo "failed: summary.json lists no three devices"; exit 1; }
expect "using the processor" 0 train "${small[@]}" --steps 3 --device auto --out auto
expect "83 launches" 0 train --preset 1m --data tales --explain --cache "$work/cache"
expect "there is no such device" 2 train --device gpu:7
expect "requires --device gpu" 2 train --device-memory 100
expect "matrix units" 2 train --device gpu --matrix-units
expect "allow more memory" 1 train --preset 1m --data tales --cache "$work/cache" --device gpu --device-memory 1 --out refused
[ ! -e refused ] || { echo "failed: a refused run left its folder"; exit 1; }
expect "run them with" 0 lab plan compare --scale smoke --seeds 1 --arms kuramoto-tuned,transformer-tuned --out plan \
    --set length.steps=4 --set validation.windows=4 --set validation.test=false --set batch.sequences=2 --cache "$work/cache"
expect "2 runs done" 0 lab run plan --device gpu --cache "$work/cache"
expect "RTX 4090" 0 bench --device gpu --batch 1 --seconds 0 --only kuramoto-1m-dropout-0.1 --report report.json
expect "exists already" 2 bench --device gpu --report report.json
expect "cannot be created" 2 bench --device gpu --report missing/report.json
expect "requires --device cpu" 2 bench --device gpu --threads 2
grep --quiet parameters_sha256_after_steps report.json || { echo "failed: report.json lacks what was measured"; exit 1; }
VK_ICD_FILENAMES=$work/none expect "install its driver" 2 train --device gpu
echo "ok: the program"
