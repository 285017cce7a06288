#!/usr/bin/env bash
# Compiles kuramoto-kernels, kuramoto-model and kuramoto-engine for 64-bit Arm and runs their tests under qemu's user-mode emulation.
# usage: arm64.sh [DIR]     DIR (default: target/arm64) gets a private Debian testing tree, 2.5 GB; the host is not
# altered. Needs root on a Debian x86-64 machine; elsewhere it says so and exits 0. JOBS=1 for one build job.
set -euo pipefail
skip() { echo "arm64: skipped: $1"; exit 0; }
src=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:-$src/target/arm64}
suite=${SUITE:-testing}
[ "$(uname -m)" = x86_64 ] || skip "the host is not x86-64"
[ "$(id -u)" = 0 ] || skip "needs root (chroot, mount namespace)"
for tool in apt-get dpkg-deb unshare chroot cargo; do command -v $tool >/dev/null || skip "no $tool"; done
unshare -m true 2>/dev/null || skip "no mount namespaces here"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r $keys ] || skip "no Debian archive keyring"
# The Debian mirror this machine is set up with.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | head -n1 || true)
[ -n "$mirror" ] || skip "no Debian mirror in apt's configuration"

apt=$dir/apt root=$dir/root
mkdir -p "$apt"/{lists/partial,archives/partial,preferences.d} "$root"/usr/{bin,sbin,lib,lib64} "$dir/cargo"
dir=$(cd "$dir" && pwd) apt=$dir/apt root=$dir/root
if [ ! -e "$root/.done" ]; then
    touch "$apt/status"
    echo "deb [arch=amd64,arm64 signed-by=$keys] $mirror $suite main" > "$apt/sources.list"
    cat > "$apt/apt.conf" <<CONF
APT::Architecture "amd64"; APT::Architectures { "amd64"; "arm64"; }; APT::Sandbox::User "root";
Dir::Etc::sourcelist "$apt/sources.list"; Dir::Etc::sourceparts "-"; Dir::Etc::preferencesparts "$apt/preferences.d";
Dir::State "$apt"; Dir::State::lists "$apt/lists"; Dir::State::status "$apt/status";
Dir::Cache "$apt"; Dir::Cache::archives "$apt/archives"; Acquire::Languages "none";
CONF
    export APT_CONFIG=$apt/apt.conf
    apt-get update -qq -o APT::Update::Error-Mode=any || skip "Debian $suite cannot be had"
    apt-get install -qq -y --no-install-recommends --download-only rustc cargo libstd-rust-dev:arm64 \
        gcc libc6-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user bash coreutils base-files \
        > "$dir/apt.log" 2>&1 || skip "packages of Debian $suite cannot be had (see $dir/apt.log)"
    unset APT_CONFIG
    for d in bin sbin lib lib64; do ln -sfn usr/$d "$root/$d"; done
    for deb in "$apt"/archives/*.deb; do dpkg-deb -x "$deb" "$root"; done
    mkdir -p "$root"/{proc,dev,work,cargo,target}
    rm -f "$apt"/archives/*.deb
    touch "$root/.done"
fi
CARGO_HOME=$dir/cargo cargo fetch --quiet --locked --manifest-path "$src/Cargo.toml"

# In the tree, in a mount namespace of its own: nothing stays mounted.
inside() {
    unshare -m bash -ec '
        root=$1 src=$2 home=$3; shift 3
        mount --bind "$src" "$root/work"; mount --bind "$home" "$root/cargo"
        mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
        exec chroot "$root" /usr/bin/env -i PATH=/usr/bin HOME=/root RUST_BACKTRACE=1 \
            CARGO_HOME=/cargo CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=/target \
            CARGO_BUILD_TARGET=aarch64-unknown-linux-gnu \
            CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=gcc \
            CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
            CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
            bash -c "cd /work && exec \"\$@\"" bash "$@"' bash "$root" "$src" "$dir/cargo" "$@"
}
inside rustc --version
inside qemu-aarch64 --version | head -n1
packages=(--locked --release -j "${JOBS:-2}" -p kuramoto-kernels -p kuramoto-model -p kuramoto-engine)
# The gradient checks of the model take more than nine minutes under emulation.
inside cargo test "${packages[@]}" --lib --test functions --test product --test backward \
    --test parity --test counts --test decoding --test allocation --test properties --test bits
