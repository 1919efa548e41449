#!/bin/sh
# What ssh is to Open MPI (plm_rsh_agent): HOST COMMAND... The other machine is the network namespace "other" of
# two_nodes.sh; all processes of it end with this one, as with its power.
shift
exec ip netns exec other unshare -upf --mount-proc --kill-child sh -c "hostname other; $*"
