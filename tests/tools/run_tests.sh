#!/bin/bash
# Runs the tests of a build folder; the last line is "N passed, N failed[, N skipped]".
#
#   run_tests.sh BUILD_DIR [ctest arguments...]
#
# Exit status: 0 if at least one test ran and none failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: run_tests.sh BUILD_DIR [ctest arguments...]}
shift
report=$PWD/$build/tests.xml
case $build in /*) report=$build/tests.xml ;; esac

gtest=${report%/*}/gtest
rm -rf "$report" "$gtest"
ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(nproc)" \
  --output-junit "$report" "$@" </dev/null
status=$?
python3 -B "$here/count_tests.py" "$report" --gtest "$gtest" --status "$status"
