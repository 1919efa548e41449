#!/bin/bash
# Two machines on one: runs two commands in network namespaces that are joined by a cable, 10.77.0.1 and
# 10.77.0.2, and ends with both statuses on the last line. Needs no root: everything happens in a user
# namespace, and everything ends with it.
#
#   two_nodes.sh COMMAND_OF_NODE_0 COMMAND_OF_NODE_1
#
set -eu
if [ "${TWO_NODES_INSIDE:-}" != 1 ]; then
  export TWO_NODES_INSIDE=1
  exec unshare -Urnmpf --mount-proc --kill-child "$0" "$@"
fi
mount -t tmpfs tmpfs /run
ip netns add other
ip link set lo up
ip -n other link set lo up
ip link add cable0 type veth peer name cable1 netns other
ip addr add 10.77.0.1/24 dev cable0
ip link set cable0 up
ip -n other addr add 10.77.0.2/24 dev cable1
ip -n other link set cable1 up
# An address that both sides have and that leads nowhere, as bridges of container engines do.
ip link add bridge0 type veth peer name bridge1
ip addr add 172.17.0.1/16 dev bridge0
ip link set bridge0 up
ip -n other link add bridge0 type veth peer name bridge1
ip -n other addr add 172.17.0.1/16 dev bridge0
ip -n other link set bridge0 up

bash -c "$1" &
first=$!
ip netns exec other bash -c "$2" &
second=$!
status0=0 status1=0
wait $first || status0=$?
wait $second || status1=$?
echo "statuses $status0 $status1"
