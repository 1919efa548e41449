#!/bin/bash
# Brings the reader of Chakra execution traces that simulators use into build/chakra, for tests/e2e/chakra_reader_test.py:
# mlcommons/chakra at a fixed commit (MIT licence). Says why if it cannot be had; nothing else fails then.
set -uo pipefail
cd "$(dirname "$0")/../.."

commit=21585d8f2d65603d791d2121e3d4632351120262
source=${DRYDOCK_CHAKRA_SOURCE:-https://github.com/mlcommons/chakra.git}
if [ "$(cat build/chakra/commit 2>/dev/null)" = "$commit" ]; then
  exit 0
fi
rm -rf build/chakra
mkdir -p build/chakra
export GIT_TERMINAL_PROMPT=0
if git -C build/chakra init -q && timeout 60 git -C build/chakra fetch -q --depth 1 "$source" "$commit" &&
  git -C build/chakra checkout -q FETCH_HEAD; then
  echo "$commit" >build/chakra/commit
  exit 0
fi
rm -rf build/chakra
echo "chakra: $source cannot be read from here"
exit 1
