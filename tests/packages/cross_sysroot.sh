#!/bin/bash
# Compiler and libraries for a cross build: build/sysroot-<machine>, unpacked from Debian's packages of that architecture.
# The system's own list of architectures and packages stays as it is (but for the compiler, which is a package of this one).
#
#   cross_sysroot.sh aarch64
set -euo pipefail
cd "$(dirname "$0")/../.."
machine=$1
case $machine in
  aarch64) architecture=arm64 ;;
  *) echo "cross_sysroot: no cross build for '$machine'; there is one for aarch64" >&2; exit 2 ;;
esac
root=$PWD/build/sysroot-$machine
[ -e "$root/complete" ] && exit 0

command -v "$machine-linux-gnu-g++" >/dev/null || tests/tools/install_packages.sh "cross-$machine"
rm -rf "$root"
state=$root/apt
mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/packages"
options=(-q -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o "Dir::State=$state"
         -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache" -o "APT::Sandbox::User=root")
: >"$state/status"
apt-get "${options[@]}" update >/dev/null
(cd "$state/packages" && apt-get "${options[@]}" download libyaml-cpp-dev libssl-dev libssl3 libhwloc-dev libhwloc15 \
  libmimalloc-dev libmimalloc2.0 libspdlog-dev libspdlog1.10 libfmt-dev libfmt9 >/dev/null)
for package in "$state"/packages/*.deb; do
  dpkg-deb -x "$package" "$root"
done
# The cross compiler looks for no folder of an architecture below another root.
cp -rn "$root/usr/include/$machine-linux-gnu/." "$root/usr/include/"
rm -rf "$state"
: >"$root/complete"
