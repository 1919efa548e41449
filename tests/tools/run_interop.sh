#!/bin/bash
# Tests with real MindSpore (tests/interop). The CPU wheel is installed once, into a virtual environment
# outside the tree (DRYDOCK_INTEROP_CACHE, default ~/.cache/drydock); where that is not possible the tests
# are skipped and the reason is printed.
set -euo pipefail
cd "$(dirname "$0")/../.."
release=${MINDSPORE_RELEASE:-2.10.0}
folder=${DRYDOCK_INTEROP_CACHE:-$HOME/.cache/drydock}/mindspore-$release
python=${DRYDOCK_MINDSPORE_PYTHON:-$folder/bin/python}

skip() {
  echo "interop: SKIPPED: $1"
  exit 0
}

if [ ! -x "$python" ]; then
  base=
  for candidate in python3.11 /usr/bin/python3 python3; do
    if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys, venv; sys.exit(sys.version_info[:2] != (3, 11))'; then
      base=$candidate
      break
    fi
  done
  [ -n "$base" ] || skip "no Python 3.11 with venv; the wheels of MindSpore $release need it"
  rm -rf "$folder.new"
  if ! { "$base" -m venv "$folder.new" &&
    timeout "${INTEROP_INSTALL_SECONDS:-600}" "$folder.new/bin/pip" install -q "mindspore==$release"; }; then
    rm -rf "$folder.new"
    skip "MindSpore $release cannot be installed (no package registry?)"
  fi
  mv "$folder.new" "$folder"
fi
"$python" -c 'import mindspore' 2>/dev/null || skip "$python cannot import mindspore"
export DRYDOCK_MINDSPORE_PYTHON=$python DRYDOCK_BUILD_DIR=${DRYDOCK_BUILD_DIR:-$PWD/build/dev}
/usr/bin/env python3 -B tests/tools/run_unittest.py tests/interop/mindspore_test.py "$@"
