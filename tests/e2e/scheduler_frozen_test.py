"""A scheduler that is stopped for longer than its members may be silent: nobody is lost (R-30)."""

import os
import signal
import subprocess
import sys
import time
import unittest

import command
import launch
from scheduler_killed_test import HEARTBEAT, HOST, REGISTRATION, SUCCESS, Client, field, registration

NODE_TIMEOUT = 2
FROZEN = 3.5  # more than whole seconds of the time-out, and than what a busy machine takes anyway
LOST = b"\x20"  # field 4 of the answer to a heartbeat, abnormal_nodes_num; absent while it is 0


class SchedulerFrozenTest(launch.LaunchTest):
    def test_r30_nobody_is_lost_while_the_scheduler_is_stopped(self):
        port = launch.free_port()
        scheduler = subprocess.Popen(
            [os.path.join(os.path.dirname(command.MSRUN), "drydock"), "scheduler", "--host=" + HOST, "--port=%d" % port,
             "--worker_num=2"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=self.variables(MS_NODE_TIMEOUT=str(NODE_TIMEOUT)))
        self.addCleanup(self.finish, scheduler)
        self.assertTrue(launch.wait_until(lambda: self.listens(port)))
        with Client(port) as first, Client(port) as second:
            for rank, client in enumerate((first, second)):
                self.assertEqual(client.ask(REGISTRATION, registration(rank))[0], SUCCESS)
            self.assert_nobody_lost(first, second)
            scheduler.send_signal(signal.SIGSTOP)
            time.sleep(FROZEN)  # the fault itself
            scheduler.send_signal(signal.SIGCONT)
            self.assert_nobody_lost(first, second)

    def assert_nobody_lost(self, *clients):
        for rank, client in enumerate(clients):
            name, body = client.ask(HEARTBEAT, field(1, b"%d" % rank))
            self.assertEqual(name, SUCCESS)
            self.assertIn(b"\x10\x01", body, "the topology is complete")
            self.assertNotIn(LOST, body)

    @staticmethod
    def listens(port):
        try:
            Client(port).socket.close()
        except OSError:
            return False
        return True


if __name__ == "__main__":
    sys.exit(unittest.main())
