#!/bin/bash
# soak.sh PROGRAM SCHEDULES SEED: fault schedules SEED to SEED + SCHEDULES - 1 of tests/sim/cluster/fault_property_test.cc, in
# parts of 10,000, one part per processor at a time. Ends with 1 at the first violation, with the seed that repeats it.
set -euo pipefail
program=$1 schedules=$2 seed=$3 part=10000
run_part() {
  local count=$((last - $2 + 1)) output
  [ "$count" -lt "$part" ] || count=$part
  if ! output=$(DRYDOCK_SEED=$2 DRYDOCK_FAULT_SCHEDULES=$count "$1" --gtest_filter='FaultSchedules.*' 2>&1); then
    grep -E -m 4 'DRYDOCK_SEED|Failure|ready|must' <<<"$output" || tail -20 <<<"$output"
    return 255 # ends xargs
  fi
}
export part last=$((seed + schedules - 1))
export -f run_part
begin=$SECONDS
seq "$seed" "$part" "$last" | nice xargs -P "$(nproc)" -I '{}' bash -c 'run_part "$@"' run_part "$program" '{}' ||
  { echo "soak: FAILED"; exit 1; }
echo "soak: $schedules fault schedules from seed $seed on without violation, $((SECONDS - begin)) s"
