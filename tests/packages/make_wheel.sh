#!/bin/bash
# Builds the wheels: build/wheel/drydock-<version>-py3-none-manylinux_2_17_<machine>.whl, and drydock_msrun-<version>-py3-none-any.whl,
# which adds the command msrun where MindSpore's is not.
#
#   make_wheel.sh            for this machine
#   make_wheel.sh aarch64    cross build: Debian's cross compiler, libraries unpacked from Debian's packages (build/sysroot-aarch64)
#
# scikit-build-core (from the Python registry, in build/wheel/tools) runs the CMake build with DRYDOCK_PORTABLE. The tag is
# what the files need, and that is checked: no symbol of a glibc newer than 2.17, no library that the wheel neither
# brings nor any Linux system has.
set -euo pipefail
cd "$(dirname "$0")/../.."
machine=${1:-$(uname -m)}
glibc=2.17
out=build/wheel
tools=$out/tools

mkdir -p "$out"
if [ ! -x $tools/bin/wheel ]; then
  python3 -m venv $tools
  $tools/bin/pip install -q "scikit-build-core>=0.10,<1" "wheel>=0.43" "build>=1.2"
fi

rm -rf "$out/raw"
settings=()
libraries=/lib/$machine-linux-gnu
if [ "$machine" != "$(uname -m)" ]; then
  tests/packages/cross_sysroot.sh "$machine"
  libraries=/usr/$machine-linux-gnu/lib
  settings=(-C "cmake.define.CMAKE_TOOLCHAIN_FILE=$PWD/cmake/$machine.cmake")
fi
ccache_folder=$PWD
CCACHE_BASEDIR=$ccache_folder $tools/bin/python -m build --wheel --no-isolation --outdir "$out/raw" \
  -C "build-dir=$out/$machine" ${settings[@]+"${settings[@]}"} . >"$out/build.log" 2>&1 ||
  { tail -40 "$out/build.log"; exit 1; }
$tools/bin/wheel unpack -d "$out/raw/files" "$out"/raw/*.whl >/dev/null
rm "$out"/raw/*.whl
python3 -B tests/packages/older_symbols.py --limit $glibc --libraries "$libraries" \
  "$out"/raw/files/*/*.data/scripts/drydock "$out"/raw/files/*/*.data/data/lib/drydock/*.so*
$tools/bin/wheel pack -d "$out/raw" "$out"/raw/files/* >/dev/null
raw=$(ls "$out"/raw/*.whl)
tagged=$($tools/bin/wheel tags --platform-tag "manylinux_${glibc/./_}_$machine" --remove "$raw" | tail -n 1)
rm -f "$out"/drydock-*"_$machine.whl"
mv "$out/raw/$tagged" "$out/"
$tools/bin/python -m build --wheel --no-isolation --outdir "$out" launcher/python/msrun >>"$out/build.log" 2>&1 ||
  { tail -40 "$out/build.log"; exit 1; }
python3 -B tests/packages/check_wheel.py "$out/$tagged" --glibc $glibc --megabytes 25
echo "$out/$tagged"
