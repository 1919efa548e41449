"""What all tests with real MindSpore share: where it is, processes of one job, waiting."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from free_ports import free_port

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("DRYDOCK_BUILD_DIR", HERE.parents[1] / "build/dev"))
PYTHON = os.environ.get("DRYDOCK_MINDSPORE_PYTHON", "")
MSRUN = BUILD / "bin/msrun"
SECONDS = 400  # a job that takes longer hangs, also on a machine that is very busy
ATTEMPTS = 3  # where MindSpore itself fails now and then
NEEDS_MINDSPORE = unittest.skipUnless(PYTHON and os.access(PYTHON, os.X_OK),
                                      "no interpreter with MindSpore (DRYDOCK_MINDSPORE_PYTHON)")

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


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class JobTest(unittest.TestCase):
    """One job in a folder of its own; its processes end with the test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.port = free_port()
        self.processes = []
        self.crashed = []  # logs of workers of which only MindSpore's clean-up failed
        self.addCleanup(self.stop_all)

    def stop_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def try_again(self, play):
        """Plays a job in which MindSpore itself may fail now and then, in a folder of its own. `play` gives what MindSpore
        did, or nothing; a fault of ours fails the test there. If MindSpore fails every time there is nothing to be tested."""
        top, told = self.folder, ""
        for attempt in range(ATTEMPTS):
            self.folder = top / ("attempt%d" % attempt)
            self.folder.mkdir()
            told = play()
            if not told:
                return
            self.stop_all()
            print("%s: once more, since %s" % (self.id(), told), file=sys.stderr, flush=True)
            self.port = free_port()
        self.skipTest("%d times in a row %s" % (ATTEMPTS, told))

    def crash_behind_the_end(self, printed, logs):
        """"rank 1 crashed ..." where the only thing wrong is that MindSpore's own clean-up crashed when a script had come
        to its end; empty for everything else. @param printed  by msrun, or by the shell that waited"""
        told = re.findall(r"error\[RANK_SIGNALLED\]: rank (\d+) .* signal (SEGV|ABRT|BUS)", printed)
        crashed = told or re.findall(r"(\d+) (Segmentation fault|Aborted|Bus error)", printed)
        others = len(re.findall(r"error\[", printed)) - len(told)
        ended = all("END OF SCRIPT" in self.text(name) for name in logs)
        return "%s of MindSpore crashed (%s) behind the end of its script" % crashed[0] if crashed and not others and ended else ""

    def start(self, words, name, **variables):
        environment = {**os.environ, **variables}
        with open(self.folder / name, "ab") as log:
            process = subprocess.Popen(list(map(str, words)), env=environment, cwd=self.folder,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        process.log_name = name
        self.processes.append(process)
        return process

    def scheduler(self, worker_num, *flags, **variables):
        words = [BUILD / "bin/drydock", "scheduler", "--host=127.0.0.1", "--port=%d" % self.port,
                 "--worker_num=%d" % worker_num, *flags]
        process = self.start(words, "scheduler.log", **variables)
        self.wait_text("scheduler.log", "listening at")
        return process

    def its_scheduler(self, worker_num, python, **variables):
        """MindSpore's own."""
        process = self.start([python, HERE / "allreduce.py"], "scheduler.log", MS_ROLE="MS_SCHED",
                             **self.place(worker_num), **variables)
        self.wait_for(lambda: listens(self.port), "its scheduler does not listen")
        return process

    def place(self, worker_num):
        return dict(MS_SCHED_HOST="127.0.0.1", MS_SCHED_PORT=str(self.port), MS_WORKER_NUM=str(worker_num))

    def workers(self, count, script="allreduce.py", python=PYTHON, ids=None, **variables):
        """`ids`: MS_NODE_ID of each; the ranks if not given."""
        ids = [str(rank) for rank in range(count)] if ids is None else ids
        return [self.start([python, HERE / script], "worker_%d.log" % index, MS_NODE_ID=node_id,
                           MS_ROLE="MS_WORKER", **self.place(count), **variables)
                for index, node_id in enumerate(ids)]

    def our_workers(self, count, stay=2):
        """Played by us over TCP, in two processes."""
        words = [BUILD / "tests/tcp_workers", "127.0.0.1", self.port, count]
        half = (count + 1) // 2
        parts = [(0, half), (half, count - half)] if count > 1 else [(0, 1)]
        return [self.start([*words, first, number, stay], "ours_%d.log" % first) for first, number in parts]

    def text(self, name):
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_for(self, condition, message):
        end = time.monotonic() + SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end, message)
            time.sleep(0.05)

    def wait_text(self, name, text, count=1):
        self.wait_for(lambda: self.text(name).count(text) >= count,
                      "%s: no '%s'" % (name, text))

    def statuses(self, processes):
        return [self.status(process) for process in processes]

    def status(self, process):
        """Exit status; 0 where the script came to its end and only MindSpore's own clean-up crashed, which
        it does now and then on a busy machine."""
        status = process.wait(SECONDS)
        came_to_its_end = "END OF SCRIPT" in self.text(process.log_name)
        if status not in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS) or not came_to_its_end:
            return status
        self.crashed.append(process.log_name)
        return 0

    def end_of(self, scheduler):
        """Its exit status, which tells whether all workers left the job; one that crashed before it left is rightly lost."""
        status = scheduler.wait(SECONDS)
        return 0 if status == 1 and self.crashed else status

    def results(self, count, pattern="worker_%d.log"):
        found = [re.findall(r"^RESULT (.*)$", self.text(pattern % rank), re.M) for rank in range(count)]
        return [line for lines in found for line in lines]

    def assert_sum(self, count, pattern="worker_%d.log"):
        total = float(count * (count + 1) // 2)  # 1 + 2 + ... + count
        self.assertEqual(self.results(count, pattern),
                         ["%d %d [%s, %s]" % (rank, count, total, total) for rank in range(count)])

    def make_tls(self):
        """Path of a TLS configuration and of a file with its password."""
        subprocess.run(["bash", "-c", MAKE_CERTIFICATES], cwd=self.folder, check=True, capture_output=True)
        config = self.folder / "tls.json"
        config.write_text(json.dumps({
            "server_cert_path": str(self.folder / "server.p12"),
            "client_cert_path": str(self.folder / "client.p12"),
            "ca_cert_path": str(self.folder / "ca.pem"), "crl_path": "",
            "cipher_list": "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384",
            "cert_expire_warning_time_in_day": 90}))
        (self.folder / "password").write_text("secret\n")
        return config, self.folder / "password"
