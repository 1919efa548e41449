"""Ports for tests that run side by side, on a machine that is doing other things as well."""

import random
import socket

FIRST = 10000
RANGE = "/proc/sys/net/ipv4/ip_local_port_range"
given = set()


def lowest_outgoing():
    """From here on the kernel takes ports for whoever asks for any: for connections, and for port 0."""
    try:
        with open(RANGE, encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError):
        return 32768


def is_free(port):
    """At every address of the machine, and not lately used."""
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def free_port(count=2):
    """The first of `count` ports that nobody holds, that this process has not given away, and that the kernel gives to nobody
    by itself. The second one is where a launcher has the scripts' MASTER_PORT."""
    last = lowest_outgoing() - count
    first = FIRST if last - FIRST > 1000 else 1024
    while True:
        port = random.randrange(first, last)
        ports = set(range(port, port + count))
        if not ports & given and all(map(is_free, sorted(ports))):
            given.update(ports)
            return port
