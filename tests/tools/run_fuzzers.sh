#!/bin/bash
# Builds the fuzz targets (tests/fuzz/*_fuzz.cc, in the build of the sanitizers) and runs each for
# FUZZ_SECONDS (default 30), FUZZ_JOBS (default 2) at a time. Seeds: tests/fuzz/corpus/<target without _fuzz>/. What is found is kept in build/fuzz/.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${FUZZ_SECONDS:-30}

targets=()
for source in tests/fuzz/*_fuzz.cc; do
  [ -e "$source" ] && targets+=("$(basename "$source" .cc)")
done
if [ ${#targets[@]} -eq 0 ]; then
  echo "fuzz: no targets"
  exit 0
fi
mkdir -p build/fuzz/found
cmake --preset asan >build/fuzz.log || { cat build/fuzz.log; exit 1; }
cmake --build build/asan -j "${JOBS:-$(nproc)}" --target "${targets[@]}"

# libFuzzer's main links the standard library before the sanitizer's runtime, which wants to be first.
runtime=$(clang++-14 -print-file-name="libclang_rt.asan-$(uname -m).so")
export runtime

# run_one TARGET SECONDS: one target; its log is shown only if it failed.
run_one() {
  local name=$1 seconds=$2
  local found=build/fuzz/found/$name seeds=tests/fuzz/corpus/${name%_fuzz} log=build/fuzz/$name.log
  mkdir -p "$found"
  local folders=("$found")
  [ -d "$seeds" ] && folders+=("$seeds")
  if LD_PRELOAD=$runtime "build/asan/tests/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
      -print_final_stats=1 -artifact_prefix="build/fuzz/$name-" "${folders[@]}" </dev/null >"$log" 2>&1; then
    echo "fuzz: $name ok, $(awk '/number_of_executed_units/ { print $2 }' "$log") inputs in $seconds s"
  else
    tail -n 60 "$log"
    echo "fuzz: $name FAILED; the input is in build/fuzz/$name-*"
    return 1
  fi
}
export -f run_one
printf '%s\n' "${targets[@]}" | xargs -P "${FUZZ_JOBS:-2}" -I '{}' bash -c 'run_one "$@"' run_one '{}' "$seconds"
