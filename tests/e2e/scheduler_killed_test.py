"""A scheduler with recovery, killed with SIGKILL at many instants: what it acknowledged, it still knows.

Each round starts the scheduler on the state of the round before, asks for every member that was ever
acknowledged, registers further ones, and kills the scheduler somewhere in between. DRYDOCK_SEED repeats a run.
"""

import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

import command
import launch

MEMBERS = 48
HOST = "127.0.0.1"
HEARTBEAT, REGISTRATION, SUCCESS = b"2", b"0", b"3"


def field(number, text):
    return bytes([number << 3 | 2, len(text)]) + text


class Client:
    """One connection that asks and waits for the answer."""

    def __init__(self, port):
        self.address = ("@%s:%d" % (HOST, port)).encode()
        self.socket = socket.create_connection((HOST, port), timeout=120)

    def ask(self, name, body):
        """Name and body of the answer; nothing if the connection ended before it was complete."""
        parts = (name, self.address, b"@", body)
        self.socket.sendall(b"RPC0" + struct.pack(">4I", *map(len, parts)) + b"".join(parts))
        header = self.receive(20)
        lengths = struct.unpack(">4I", header[4:])
        text = self.receive(sum(lengths))
        return text[:lengths[0]], text[sum(lengths[:3]):]

    def receive(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise ConnectionError("closed")
            data += piece
        return data

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def registration(rank):
    return field(1, b"%d" % rank) + field(2, b"host") + field(3, b"MS_WORKER") + field(4, HOST.encode())


class SchedulerKilledTest(launch.LaunchTest):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("DRYDOCK_SEED", random.randrange(1 << 32)))
        print("DRYDOCK_SEED=%d" % self.seed, flush=True)
        self.random = random.Random(self.seed)
        self.port = launch.free_port()
        self.acknowledged = set()
        self.enough = MEMBERS

    def start_scheduler(self, words):
        process = subprocess.Popen(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL,
                                   env=self.variables(MS_ENABLE_RECOVERY="1", MS_RECOVERY_PATH=str(self.folder)))
        self.addCleanup(self.finish, process)
        return process

    def wait_for_port(self, process):
        self.assertTrue(launch.wait_until(lambda: self.connects() or process.poll() is not None))
        self.assertIsNone(process.poll(), "it did not start again: seed %d" % self.seed)

    def kill(self, process):
        time.sleep(self.random.uniform(0, 0.005))  # the instant of the fault, not a synchronisation
        # msrun's scheduler is in the inner one of its two processes.
        inner = Path("/proc/%d/task/%d/children" % (process.pid, process.pid)).read_text().split()
        os.kill(int(inner[0]) if inner else process.pid, signal.SIGKILL)
        process.wait()
        self.assertTrue(launch.wait_until(lambda: self.marked() == []), "ranks outlive their launcher")

    def connects(self):
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0

    def check_members(self):
        with Client(self.port) as client:
            for rank in sorted(self.acknowledged):
                # An unknown member gets no answer at all: the time-out of the connection tells.
                name, _ = client.ask(HEARTBEAT, field(1, b"%d" % rank))
                self.assertEqual(name, SUCCESS, "rank %d, seed %d" % (rank, self.seed))

    def register(self, ranks):
        """Until the scheduler dies, all are done, or enough are for this round."""
        for rank in ranks:
            if len(self.acknowledged) >= self.enough:
                return
            try:
                with Client(self.port) as client:
                    name, _ = client.ask(REGISTRATION, registration(rank))
            except OSError:
                return
            if name == SUCCESS:
                self.acknowledged.add(rank)

    def missing(self):
        return [rank for rank in range(MEMBERS) if rank not in self.acknowledged]

    def register_and_kill(self, scheduler):
        ranks = self.missing()
        self.random.shuffle(ranks)
        clients = [threading.Thread(target=self.register, args=(ranks[part::3],)) for part in range(3)]
        wanted = len(self.acknowledged) + self.random.randrange(min(8, len(ranks)))
        # The kill comes in the middle; on a busy machine it comes late, and some must be left for the next round.
        self.enough = wanted + 4
        for client in clients:
            client.start()
        self.assertTrue(launch.wait_until(lambda: len(self.acknowledged) >= wanted))
        self.kill(scheduler)
        for client in clients:
            client.join()

    def play(self, words, rounds):
        interrupted = acknowledged = 0
        for _ in range(rounds):
            scheduler = self.start_scheduler(words)
            if self.random.random() < 0.2:
                self.kill(scheduler)  # while it starts
                continue
            self.wait_for_port(scheduler)
            self.check_members()
            self.register_and_kill(scheduler)
            acknowledged += len(self.acknowledged)
            if self.missing():
                interrupted += 1
            else:  # another job
                (self.folder / "recovery.dat").unlink()
                self.acknowledged.clear()
        self.assertGreater(interrupted, rounds // 4, "seed %d" % self.seed)
        self.assertGreater(acknowledged, rounds, "too few to lose, seed %d" % self.seed)
        scheduler = self.start_scheduler(words)
        self.wait_for_port(scheduler)
        self.check_members()
        self.enough = MEMBERS
        self.register(self.missing())
        self.assertEqual(self.missing(), [], "seed %d" % self.seed)
        with Client(self.port) as client:
            _, body = client.ask(HEARTBEAT, field(1, b"0"))
        self.assertIn(b"\x10\x01", body, "the topology is complete")  # field 2, topo_state, is 1

    def test_g7_drydock_scheduler(self):
        self.play([os.path.join(os.path.dirname(command.MSRUN), "drydock"), "scheduler", "--host=" + HOST, "--port=%d" % self.port,
                   "--worker_num=%d" % MEMBERS], rounds=40)

    def test_g7_msrun(self):
        """The same in msrun, whose own rank of the job ends with it and is started again with it."""
        self.write("stay.py", "import time\ntime.sleep(600)\n")
        self.play([command.MSRUN, "--worker_num=%d" % MEMBERS, "--local_worker_num=1", "--node_rank=0",
                   "--rendezvous=worker", "--join=True", "--python=" + sys.executable,
                   "--master_port=%d" % self.port, "stay.py"], rounds=20)


if __name__ == "__main__":
    sys.exit(unittest.main())
