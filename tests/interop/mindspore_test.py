"""Real MindSpore: its workers under our scheduler, our workers under its scheduler.

Needs an interpreter that imports a CPU wheel: DRYDOCK_MINDSPORE_PYTHON (tests/tools/run_interop.sh
makes one). Skipped without it.
"""

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("DRYDOCK_BUILD_DIR", HERE.parents[1] / "build/dev"))
PYTHON = os.environ.get("DRYDOCK_MINDSPORE_PYTHON", "")
SECONDS = 180  # a job that takes longer hangs

# An authority and two certificates with the key identifiers that MindSpore wants to see.
MAKE_CERTIFICATES = """
set -e
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -subj /CN=ca -days 200 -out ca.pem \\
  -addext basicConstraints=critical,CA:true -addext subjectKeyIdentifier=hash
for name in server client; do
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout $name.key -subj /CN=$name -out $name.csr
  printf 'authorityKeyIdentifier=keyid\\nsubjectKeyIdentifier=hash\\n' > ext
  openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 200 -extfile ext -out $name.pem
  openssl pkcs12 -export -inkey $name.key -in $name.pem -passout pass:secret -out $name.p12
done
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@unittest.skipUnless(PYTHON and os.access(PYTHON, os.X_OK),
                     "no interpreter with MindSpore (DRYDOCK_MINDSPORE_PYTHON)")
class MindSporeTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) if hasattr(
            self, "enterContext") else Path(tempfile.mkdtemp())
        self.port = free_port()
        self.processes = []
        self.addCleanup(self.stop_all)

    def stop_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def start(self, words, name, **variables):
        environment = {**os.environ, **variables}
        with open(self.folder / name, "ab") as log:
            process = subprocess.Popen(words, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process

    def scheduler(self, worker_num, *flags, **variables):
        words = [str(BUILD / "bin/drydock"), "scheduler", "--host=127.0.0.1", "--port=%d" % self.port,
                 "--worker_num=%d" % worker_num, *flags]
        process = self.start(words, "scheduler.log", **variables)
        self.wait_text("scheduler.log", "listening at")
        return process

    def workers(self, count, script="allreduce.py", **variables):
        job = dict(MS_ROLE="MS_WORKER", MS_SCHED_HOST="127.0.0.1", MS_SCHED_PORT=str(self.port),
                   MS_WORKER_NUM=str(count), **variables)
        return [self.start([PYTHON, str(HERE / script)], "worker_%d.log" % rank, MS_NODE_ID=str(rank),
                           **job) for rank in range(count)]

    def text(self, name):
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_text(self, name, text, count=1):
        end = time.monotonic() + SECONDS
        while self.text(name).count(text) < count:
            self.assertLess(time.monotonic(), end, "%s: no '%s':\n%s" % (name, text, self.text(name)[-3000:]))
            time.sleep(0.05)

    def statuses(self, processes):
        return [process.wait(SECONDS) for process in processes]

    def results(self, count):
        found = [re.findall(r"^RESULT (.*)$", self.text("worker_%d.log" % rank), re.M)
                 for rank in range(count)]
        return [line for lines in found for line in lines]

    def assert_sum(self, count):
        total = float(count * (count + 1) // 2)  # 1 + 2 + ... + count
        self.assertEqual(self.results(count),
                         ["%d %d [%s, %s]" % (rank, count, total, total) for rank in range(count)])

    def test_two_workers_add_up_under_our_scheduler(self):
        scheduler = self.scheduler(2)
        self.assertEqual(self.statuses(self.workers(2)), [0, 0])
        self.assert_sum(2)
        self.assertEqual(scheduler.wait(SECONDS), 0)

    def test_four_workers_train_the_network_of_the_manual(self):
        scheduler = self.scheduler(4)
        self.assertEqual(self.statuses(self.workers(4, "network.py")), [0] * 4)
        weights = [line.split()[1] for line in self.results(4)]
        self.assertEqual(len(weights), 4)
        self.assertEqual(len(set(weights)), 1, "all ranks end with the same weights")
        self.assertEqual(scheduler.wait(SECONDS), 0)

    def test_a_killed_worker_ends_the_others_and_the_scheduler(self):
        scheduler = self.scheduler(2)
        workers = self.workers(2, WAIT_FOR=str(self.folder / "never"))
        for rank in range(2):
            self.wait_text("worker_%d.log" % rank, "RESULT")
        workers[1].kill()
        start = time.monotonic()
        self.assertNotEqual(workers[0].wait(SECONDS), 0)
        self.assertLess(time.monotonic() - start, 30, "the verdict comes by the closed connection")
        self.assertEqual(scheduler.wait(SECONDS), 1)
        self.assertIn("The node: 1 is timed out", self.text("scheduler.log"))

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
        self.assertEqual(second.wait(SECONDS), 0, self.text("second.log"))
        self.assert_sum(2)

    def test_two_workers_add_up_over_tls(self):
        subprocess.run(["bash", "-c", MAKE_CERTIFICATES], cwd=self.folder, check=True, capture_output=True)
        config = self.folder / "tls.json"
        config.write_text(json.dumps({
            "server_cert_path": str(self.folder / "server.p12"),
            "client_cert_path": str(self.folder / "client.p12"),
            "ca_cert_path": str(self.folder / "ca.pem"), "crl_path": "",
            "cipher_list": "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384",
            "cert_expire_warning_time_in_day": 90}))
        (self.folder / "password").write_text("secret\n")
        scheduler = self.scheduler(2, "--tls_config=%s" % config,
                                   "--tls_password_file=%s" % (self.folder / "password"))
        workers = self.workers(2, ENABLE_SSL="1", TLS_CONFIG=str(config), TLS_PASSWORD="secret")
        self.assertEqual(self.statuses(workers), [0, 0], self.text("worker_0.log")[-3000:])
        self.assert_sum(2)
        self.assertEqual(scheduler.wait(SECONDS), 0)

    def test_our_workers_are_served_by_its_scheduler(self):
        job = dict(MS_SCHED_HOST="127.0.0.1", MS_SCHED_PORT=str(self.port), MS_WORKER_NUM="8")
        scheduler = self.start([PYTHON, str(HERE / "allreduce.py")], "scheduler.log", MS_ROLE="MS_SCHED",
                               **job)
        end = time.monotonic() + SECONDS
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)
        words = [str(BUILD / "tests/tcp_workers"), "127.0.0.1", str(self.port), "8"]
        halves = [self.start([*words, first, "4", "2"], "ours_%s.log" % first) for first in "04"]
        self.assertEqual(self.statuses(halves), [0, 0], self.text("ours_0.log"))
        self.assertIn("ready 4", self.text("ours_4.log"))
        self.assertEqual(scheduler.wait(SECONDS), 0)


if __name__ == "__main__":
    unittest.main()
