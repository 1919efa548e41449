#!/bin/bash
# Checks of the source tree that need no build. Every check is also a test of its own (label "check").
set -uo pipefail
cd "$(dirname "$0")/../.."
failed=0
for check in tests/tools/check_*.py; do
  case $check in *_test.py) continue ;; esac
  name=$(basename "$check" .py)
  if python3 -B "$check"; then
    echo "$name: ok"
  else
    echo "$name: FAILED"
    failed=1
  fi
done
exit $failed
