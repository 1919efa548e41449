#!/bin/bash
# The numbers of docs/benchmarks.md about real jobs, in less than six minutes on two idle cores:
# start of processes, then forming of clusters, each beside its peers.
#
#   bench/real_jobs.sh [BUILD_FOLDER]     (default build/release, with the targets drydock and tcp_workers)
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
wheel=${DRYDOCK_INTEROP_CACHE:-$HOME/.cache/drydock}/mindspore-${MINDSPORE_RELEASE:-2.10.0}/bin/python
if [ -z "${DRYDOCK_MINDSPORE_PYTHON:-}" ] && [ -x "$wheel" ]; then
  export DRYDOCK_MINDSPORE_PYTHON=$wheel
fi
nproc
cut -d' ' -f1-3 /proc/loadavg
python3 -B bench/start_processes.py --msrun "$build/bin/msrun"
python3 -B bench/forming.py --build "$build" --stay 8 --peer_seconds 30
