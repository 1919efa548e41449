#!/bin/bash
# A dry run that HOSTS hosts play over TCP (--sim_spread), each a network namespace with an address of its own on one
# bridge: what forming and leaving took, by spread.json. Needs no root; everything ends with the user namespace.
#
#   spread.sh [--build FOLDER] [HOSTS [RANKS [REPEATS]]]     4 hosts, 4096 ranks, 3 times
#
set -eu
ROOT=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$ROOT/build/release
[ "${1:-}" = --build ] && { BUILD=$(cd "$2" && pwd); shift 2; }
HOSTS=${1:-4} RANKS=${2:-4096} REPEATS=${3:-3}
if [ "${SPREAD_INSIDE:-}" != 1 ]; then
  ulimit -n "$(ulimit -Hn)"
  exec env SPREAD_INSIDE=1 unshare -Urnmpf --mount-proc --kill-child "$0" --build "$BUILD" "$HOSTS" "$RANKS" "$REPEATS"
fi
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
cd /tmp
ip link set lo up
ip link add bridge type bridge
ip link set bridge up
for ((host = 0; host < HOSTS; ++host)); do
  ip netns add "h$host"
  ip link add "cable$host" type veth peer name eth0 netns "h$host"
  ip link set "cable$host" master bridge up
  ip -n "h$host" link set lo up
  ip -n "h$host" addr add "10.78.0.$((host + 1))/16" dev eth0
  ip -n "h$host" link set eth0 up
done
for ((run = 0; run < REPEATS; ++run)); do
  for ((host = HOSTS - 1; host >= 0; --host)); do
    ip netns exec "h$host" "$BUILD/bin/msrun" --sim_level=1 --sim_spread --worker_num="$RANKS" \
      --local_worker_num=$(((RANKS + HOSTS - 1) / HOSTS)) --devices_per_node=8 --node_rank="$host" \
      --master_addr=10.78.0.1 --log_dir=out "$ROOT/docs/examples/quickstart/net.py" >"host$host.out" 2>&1 &
  done
  wait
  tail -qn 1 host*.out
done
