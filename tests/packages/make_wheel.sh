#!/bin/bash
# Builds the wheel: build/wheel/drydock-<version>-py3-none-manylinux_2_34_<machine>.whl.
#
#   make_wheel.sh            for this machine
#   make_wheel.sh aarch64    cross build: Debian's cross compiler, libraries unpacked from Debian's packages (build/sysroot-aarch64)
#
# scikit-build-core (from the Python registry, in build/wheel/tools) runs the CMake build with DRYDOCK_PORTABLE. The tag is
# what the files need, and that is checked: no symbol of a glibc newer than 2.34, no library that the wheel neither
# brings nor any Linux system has.
set -euo pipefail
cd "$(dirname "$0")/../.."
machine=${1:-$(uname -m)}
glibc=2.34
out=build/wheel
tools=$out/tools

mkdir -p "$out"
if [ ! -x $tools/bin/wheel ]; then
  python3 -m venv $tools
  $tools/bin/pip install -q "scikit-build-core>=0.10,<1" "wheel>=0.43" "build>=1.2"
fi

rm -rf "$out/raw"
settings=()
if [ "$machine" != "$(uname -m)" ]; then
  tests/packages/cross_sysroot.sh "$machine"
  settings=(-C "cmake.define.CMAKE_TOOLCHAIN_FILE=$PWD/cmake/$machine.cmake")
fi
ccache_folder=$PWD
CCACHE_BASEDIR=$ccache_folder $tools/bin/python -m build --wheel --no-isolation --outdir "$out/raw" \
  -C "build-dir=$out/$machine" ${settings[@]+"${settings[@]}"} . >"$out/build.log" 2>&1 ||
  { tail -40 "$out/build.log"; exit 1; }
raw=$(ls "$out"/raw/*.whl)
tagged=$($tools/bin/wheel tags --platform-tag "manylinux_${glibc/./_}_$machine" --remove "$raw" | tail -n 1)
rm -f "$out"/drydock-*"_$machine.whl"
mv "$out/raw/$tagged" "$out/"
python3 -B tests/packages/check_wheel.py "$out/$tagged" --glibc $glibc --megabytes 30
echo "$out/$tagged"
