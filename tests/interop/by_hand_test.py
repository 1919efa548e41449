"""Real MindSpore, started by hand: its workers under our scheduler, our workers under its scheduler.

Needs an interpreter that imports a CPU wheel: DRYDOCK_MINDSPORE_PYTHON (tests/tools/run_interop.sh
makes one). Skipped without it.
"""

import signal
import socket
import struct
import threading
import unittest

from mindspore_job import NEEDS_MINDSPORE, PYTHON, SECONDS, JobTest, listens


class Proxy:
    """Passes connections on to a port and can reset them all."""

    def __init__(self, target):
        self.target = target
        self.pairs = []
        self.over = set()  # connections that one of their members has ended
        self.answers = {}  # by connection since the last reset: how often the target said something
        self.asked = {}  # the same of the client
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                pair = (self.listener.accept()[0], socket.create_connection(("127.0.0.1", self.target)))
            except OSError:
                return
            self.pairs.append(pair)
            for source, target in (pair, pair[::-1]):
                threading.Thread(target=self.pump, args=(source, target, pair), daemon=True).start()

    def pump(self, source, target, pair):
        try:
            while data := source.recv(65536):
                target.sendall(data)
                count = self.answers if source is pair[1] else self.asked
                if pair in self.pairs:
                    count[pair] = count.get(pair, 0) + 1
        except OSError:
            pass
        self.over.add(pair)
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def alive(self):
        """How many connections nobody has ended."""
        return sum(pair not in self.over for pair in list(self.pairs))

    def reset(self):
        """Ends all connections at once."""
        pairs, self.pairs, self.answers, self.asked = self.pairs, [], {}, {}
        for pair in pairs:
            for each in pair:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:  # its member had ended it before
                    pass
                each.close()

    def unanswered(self):
        """How many connections since the last reset were asked something and said nothing."""
        return sum(pair not in self.answers for pair in list(self.asked))


@NEEDS_MINDSPORE
class ByHandTest(JobTest):
    def test_four_workers_train_the_network_of_the_manual(self):
        scheduler = self.scheduler(4)
        self.assertEqual(self.statuses(self.workers(4, "network.py")), [0] * 4)
        weights = [line.split()[1] for line in self.results(4)]
        self.assertEqual(len(weights), 4)
        self.assertEqual(len(set(weights)), 1, "all ranks end with the same weights")
        self.assertEqual(self.end_of(scheduler), 0)

    def test_ids_that_are_texts_get_ranks_in_their_order(self):
        """The release is found in PATH's Python or learned; here it is said, as it must be for texts."""
        scheduler = self.scheduler(2, "--mindspore_release=2.10.0")
        self.assertEqual(self.statuses(self.workers(2, ids=["worker_b", "worker_a"])), [0, 0])
        # By id within one address: worker_a is rank 0, though it was started second.
        self.assertEqual([line.split()[0] for line in self.results(2)], ["1", "0"])
        self.assertEqual(self.end_of(scheduler), 0)

    def test_a_killed_worker_ends_the_others_and_the_scheduler(self):
        scheduler = self.scheduler(2, MS_NODE_TIMEOUT="8")
        workers = self.workers(2, WAIT_FOR=str(self.folder / "never"))
        for rank in range(2):
            self.wait_text("worker_%d.log" % rank, "RESULT")
        workers[1].kill()
        self.assertEqual(workers[0].wait(SECONDS), -signal.SIGTERM, "it ends itself")
        self.assertEqual(scheduler.wait(SECONDS), 1)
        self.assertIn("The node: 1 is timed out", self.text("scheduler.log"))

    def test_a_reset_of_all_connections_ends_no_job(self):
        """Workers come back after one or two pauses of 3 to 5 s; the job goes on as with MindSpore's own scheduler."""
        self.try_again(self.play_reset)

    def play_reset(self):
        scheduler = self.scheduler(2)
        proxy = Proxy(self.port)
        self.addCleanup(proxy.listener.close)
        go = self.folder / "go"
        target, self.port = self.port, proxy.port
        workers = self.workers(2, WAIT_FOR=str(go))
        self.port = target
        for rank in range(2):
            self.wait_text("worker_%d.log" % rank, "RESULT")
        # A worker holds two connections, and may be opening one of them anew right now.
        self.wait_for(lambda: proxy.alive() >= 2, "the workers hold no connections")
        proxy.reset()
        # Both are back when two new connections have had two heartbeats answered.
        self.wait_for(lambda: sum(count >= 2 for count in list(proxy.answers.values())) >= 2 or self.any_ended(workers),
                      "the workers do not come back")
        # As it is when a worker ends, not when the scheduler has missed that worker later on.
        waits = scheduler.poll() is None and listens(target) and "is timed out" not in self.text("scheduler.log")
        go.touch()
        statuses = self.statuses(workers)
        if told := waits and self.one_that_did_not_reconnect(statuses, proxy):
            return told
        self.assertEqual(statuses, [0, 0], "".join(self.text(name)[-4000:] for name in ("worker_0.log", "worker_1.log", "scheduler.log")))
        self.assertEqual(self.end_of(scheduler), 0, self.text("scheduler.log"))
        self.assert_sum(2)
        return ""

    @staticmethod
    def any_ended(processes):
        return any(process.poll() is not None for process in processes)

    def one_that_did_not_reconnect(self, statuses, proxy):
        """MindSpore's worker may connect anew and then say nothing, or take no notice of the connection, and ends itself. Not
        the doing of a scheduler that listens, took nobody for lost before and left no question without an answer."""
        for index, status in enumerate(statuses):
            log = self.text("worker_%d.log" % index)
            tried = "Failed to connect to the meta server" in log or (
                "Retry to reconnect to the meta server" in log and "Successfully reconnected" not in log)
            if status == -signal.SIGTERM and tried and "abnormal nodes num" not in log and proxy.unanswered() == 0:
                return "MindSpore's worker %d connected anew, asked nothing there and gave up" % index
        return ""

    def test_a_killed_scheduler_goes_on_where_it_was(self):
        go = self.folder / "go"
        recovery = dict(MS_ENABLE_RECOVERY="1", MS_RECOVERY_PATH=str(self.folder))
        first = self.scheduler(2, **recovery)
        workers = self.workers(2, WAIT_FOR=str(go), **recovery)
        for rank in range(2):
            self.wait_text("worker_%d.log" % rank, "RESULT")
        first.send_signal(signal.SIGKILL)
        first.wait(SECONDS)
        second = self.start(first.args, "second.log", **recovery)
        self.wait_text("second.log", "listening at")
        go.touch()
        self.assertEqual(self.statuses(workers), [0, 0])
        self.assertEqual(self.end_of(second), 0, self.text("second.log"))
        self.assert_sum(2)

    def test_an_extra_worker_and_a_second_one_of_an_id_are_turned_away(self):
        scheduler = self.scheduler(2)
        workers = self.workers(2, WAIT_FOR=str(self.folder / "go"))
        for rank in range(2):
            self.wait_text("worker_%d.log" % rank, "RESULT")
        strangers = [self.start(workers[0].args, "stranger_%s.log" % node_id, MS_NODE_ID=node_id,
                                MS_ROLE="MS_WORKER", **self.place(2)) for node_id in ("1", "2")]
        self.assertNotIn(0, self.statuses(strangers))  # 1, or a signal where MindSpore's own clean-up crashes
        for name in ("stranger_1.log", "stranger_2.log"):
            self.assertIn("Failed to register the compute graph node", self.text(name))
        (self.folder / "go").touch()
        self.assertEqual(self.statuses(workers), [0, 0])
        self.assert_sum(2)
        self.assertEqual(self.end_of(scheduler), 0)

    def test_two_workers_add_up_over_tls(self):
        config, password = self.make_tls()
        scheduler = self.scheduler(2, "--tls_config=%s" % config, "--tls_password_file=%s" % password)
        workers = self.workers(2, ENABLE_SSL="1", TLS_CONFIG=str(config), TLS_PASSWORD="secret")
        self.assertEqual(self.statuses(workers), [0, 0], self.text("worker_0.log")[-3000:])
        self.assert_sum(2)
        self.assertEqual(self.end_of(scheduler), 0)

    def test_our_workers_are_served_by_its_scheduler(self):
        for count in (1, 129):  # up to 128 MindSpore polls every half second, above more slowly
            with self.subTest(count=count):
                scheduler = self.its_scheduler(count, PYTHON)
                ours = self.our_workers(count)
                self.assertEqual(set(self.statuses(ours)), {0}, self.text("ours_0.log"))
                self.assertIn("ready", self.text("ours_0.log"))
                self.assertEqual(self.end_of(scheduler), 0)


if __name__ == "__main__":
    unittest.main()
