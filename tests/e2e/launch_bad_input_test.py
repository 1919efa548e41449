"""Everything that a command line alone can get wrong, as one table: each line ends with its status and one error
line with code and hint, within a second of the machine's time, with nothing started and nothing left."""

import json
import os
import shutil
import socket
import subprocess
import sys
import unittest

import command
import launch

# name of the requirement, flags, status, code, words of the message; PORT is a port that somebody listens at.
TABLE = (
    ("R-01", ["--master_port=PORT"], 3, "PORT_IN_USE", "127.0.0.1:PORT"),
    ("R-01", ["--master_port=PORT", "--join=False"], 3, "PORT_IN_USE", "127.0.0.1:PORT"),
    ("R-02", ["--master_port=1023"], 2, "PORT_RANGE", "1023"),
    ("R-02", ["--master_port=65536"], 2, "PORT_RANGE", "65536"),
    ("R-02", ["--master_port=-1"], 2, "PORT_RANGE", "-1"),
    ("R-02", ["--master_port=80x"], 2, "USAGE", "80x"),
    ("R-02", ["--master_port=99999999999999999999"], 2, "USAGE", "99999999999999999999"),
    ("R-02", ["--master_port=0", "--worker_num=4"], 2, "PORT_RANGE", "0"),
    ("R-02", ["--script_port=1023"], 2, "PORT_RANGE", "1023"),
    ("R-03", ["--master_addr=no..name"], 3, "RESOLVE", "no..name"),
    ("R-01", ["--script_port=PORT", "--rendezvous=launcher"], 3, "PORT_IN_USE", "127.0.0.1:PORT"),
    ("R-02", ["--script_port=0"], 2, "PORT_RANGE", "0"),
    ("R-02", ["--script_port=high"], 2, "USAGE", "high"),
    ("R-03", ["--master_addr=no..name", "--wait_dns", "--cluster_time_out=0"], 3, "RESOLVE", "no..name"),
    ("R-03", ["--master_addr=1.2.3.4.5"], 3, "RESOLVE", "1.2.3.4.5"),
    ("R-06", ["--master_addr=0.0.0.0"], 3, "RESOLVE", "0.0.0.0"),
    ("R-06", ["--master_addr=224.0.0.1"], 3, "RESOLVE", "224.0.0.1"),
    ("R-06", ["--master_addr=255.255.255.255"], 3, "RESOLVE", "255.255.255.255"),
    ("R-06", ["--master_addr=::", "--rendezvous=launcher"], 3, "RESOLVE", "::"),
    ("R-08", ["--master_addr=fe80::1%no-such-card", "--rendezvous=launcher"], 3, "RESOLVE", "no-such-card"),
    ("R-03", ["--master_addr="], 3, "RESOLVE", "''"),
    ("R-03", ["--master_addr=" + "a" * 300], 3, "RESOLVE", "aaaa"),
    ("R-08", ["--master_addr=::1", "--rendezvous=worker"], 2, "IPV6_UNSUPPORTED", "::1"),
    ("R-08", ["--master_addr=[::1"], 3, "RESOLVE", "[::1"),
    ("R-14", ["--worker_num=2", "--local_worker_num=3"], 2, "USAGE", "3"),
    ("R-14", ["--worker_num=4", "--local_worker_num=2", "--node_rank=2"], 2, "USAGE", "node 2"),
    ("R-14", ["--worker_num=9223372036854775807", "--local_worker_num=1", "--node_rank=9223372036854775807"], 2,
     "USAGE", "2147483647"),
    ("R-24", ["--max_restarts=-1"], 2, "USAGE", "max_restarts"),
    ("R-24", ["--max_restarts=1", "--join=False"], 2, "USAGE", "max_restarts"),
    ("R-24", ["--max_restarts=1", "--rendezvous=worker"], 2, "USAGE", "recovery"),
    ("R-24", ["--max_restarts=often"], 2, "USAGE", "often"),
    ("R-43", ["--tls_config=missing.json"], 3, "TLS_MATERIAL", "missing.json"),
    ("R-43", ["--tls_config=net.py"], 3, "TLS_MATERIAL", "net.py"),
    ("R-43", ["--tls_config=taken"], 3, "TLS_MATERIAL", "is a folder"),
    ("R-43", ["--tls_config=tls.json"], 3, "TLS_MATERIAL", "password"),
    ("R-43", ["--tls_config=tls.json", "--tls_password_file=missing"], 3, "TLS_MATERIAL", "missing"),
    ("R-43", ["--tls_config=tls.json", "--tls_password_file=net.py"], 3, "TLS_MATERIAL", "server.p12"),
    ("R-43", ["--tls_password_file=net.py"], 2, "USAGE", "--tls_config"),
    ("R-48", ["--log_dir=net.py"], 3, "LOG_DIR", "net.py"),
    ("R-48", ["--log_dir=net.py/deeper"], 3, "LOG_DIR", "net.py"),
    ("R-48", ["--log_dir=/proc/drydock"], 3, "LOG_DIR", "/proc/drydock"),
    ("R-48", ["--log_dir=" + "x" * 300], 3, "LOG_DIR", "name too long"),
    ("R-50", ["--log_dir=taken"], 3, "LOG_DIR", "is a folder"),
    ("R-50", ["--worker_log_name=" + "x" * 300], 3, "LOG_DIR", "name too long"),
    ("R-50", ["--log_dir=pipe"], 3, "LOG_DIR", "is not a file"),
    ("R-50", ["--log_dir=scheduler", "--rendezvous=worker"], 3, "LOG_DIR", "scheduler.log: is a folder"),
    ("R-62", ["--worker_num=9000000", "--local_worker_num=9000000"], 3, "NPROC", "has room for "),  # PID_MAX_LIMIT: 4,194,304
    ("R-63", ["missing.py"], 3, "NO_SCRIPT", "missing.py"),
    ("R-63", ["taken"], 3, "NO_SCRIPT", "is a folder"),
    ("R-63", ["--python=no-such-python", "net.py"], 3, "NO_INTERPRETER", "no-such-python"),
    ("R-63", ["--python=net.py", "net.py"], 3, "NO_INTERPRETER", "net.py"),
    ("R-63", ["--python=taken", "net.py"], 3, "NO_INTERPRETER", "taken"),
    ("R-63", ["no-such-program"], 3, "NO_SCRIPT", "no-such-program"),
    ("R-63", ["./pipe/worker_0.log"], 3, "NO_SCRIPT", "is not a file"),
    ("R-65", ["--worker_num=0"], 2, "USAGE", "worker_num"),
    ("R-65", ["--worker_num=-8"], 2, "USAGE", "worker_num"),
    ("R-65", ["--worker_num=eight"], 2, "USAGE", "eight"),
    ("R-65", ["--worker_num="], 2, "USAGE", "worker_num"),
    ("R-65", ["--local_worker_num=0"], 2, "USAGE", "local_worker_num"),
    ("R-65", ["--node_rank=-2", "--worker_num=4"], 2, "USAGE", "node_rank"),
    ("R-65", ["--cluster_time_out=soon"], 2, "USAGE", "soon"),
    ("R-65", ["--join=yes!"], 2, "USAGE", "join"),
    ("R-65", ["--grace=-1"], 2, "USAGE", "grace"),
    ("R-65", ["--rendezvous=maybe"], 2, "USAGE", "auto, worker, launcher"),
    ("R-65", ["--framework=caffe"], 2, "USAGE", "mindspore, torch, paddle"),
    ("R-65", ["--tail_worker_log=2"], 2, "USAGE", "rank 2"),
    ("R-65", ["--tail_worker_log=0,,1"], 2, "USAGE", "0,,1"),
    ("R-65", ["--bind_core=yes"], 2, "USAGE", "bind_core"),
    ("R-65", ['--bind_core={"device0":["0"]}'], 2, "USAGE", "bind_core"),
    ("R-65", ['--bind_core={"device0":["0-99999"]}'], 2, "USAGE", "bind_core"),
    ("R-65", ['--bind_core={"device0":["1000-1001"]}'], 2, "USAGE", "processor 1000"),
    ("R-65", ['--bind_core={"gpu0":["0-0"]}'], 2, "USAGE", "bind_core"),
    ("R-65", ["--sim_level=7"], 2, "USAGE", "sim_level"),
    ("R-65", ["--sim_rank_id=1"], 2, "USAGE", "sim_rank_id"),
    ("R-65", ["--node_rank=first"], 2, "USAGE", "first"),
    ("R-65", ["--local_worker_num=all"], 2, "USAGE", "all"),
    ("R-65", ["--join="], 2, "USAGE", "join"),
    ("R-65", ["--tail_worker_log="], 2, "USAGE", "tail_worker_log"),
    ("R-65", ["--tail_worker_log=all"], 2, "USAGE", "all"),
    ("R-65", ["--tail_worker_log=-2"], 2, "USAGE", "rank -2"),
    ("R-65", ["--bind_core={"], 2, "USAGE", "bind_core"),
    ("R-65", ["--bind_core={}"], 2, "USAGE", "bind_core"),
    ("R-65", ["--bind_core=[]"], 2, "USAGE", "bind_core"),
    ("R-65", ["--mindspore_release=newest"], 2, "USAGE", "newest"),
    ("R-65", ["--compat=9"], 2, "USAGE", "9"),
    ("R-65", ["--threads=-1"], 2, "USAGE", "threads"),
    ("R-65", ["--strict"], 2, "USAGE", "dry runs only"),
    ("R-65", ["--fail_on_memory"], 2, "USAGE", "dry runs only"),
    ("R-65", ["--trace_timeout=5"], 2, "USAGE", "dry runs only"),
    ("R-65", ["--device_memory=58GB"], 2, "USAGE", "dry runs only"),
    ("R-65", ["--suggest=False"], 2, "USAGE", "dry runs only"),
    ("R-65", ["--verify"], 2, "USAGE", "dry runs only"),
    ("R-65", ["--redistribution=optimal"], 2, "USAGE", "dry runs only"),
    ("R-65", ["--wor=2"], 2, "USAGE", "could match --worker_num, --worker_log_name"),
    ("R-65", ["-x"], 2, "USAGE", "-x"),
    ("R-65", ["--wroker_num=2"], 2, "USAGE", "--worker_num"),
    ("R-65", ["--log_dir"], 2, "USAGE", "log_dir"),
    ("R-37", ["--rank_table_file=net.py", "--rendezvous=worker"], 2, "USAGE", "net.py: rank table is not JSON: line 1, column "),
    ("R-37", ["--rank_table_file=missing.json", "--rendezvous=worker"], 2, "USAGE", "missing.json"),
    ("R-37", ["--rank_table_file=missing.json", "--rendezvous=launcher"], 2, "USAGE", "missing.json"),
    ("R-37", ["--rank_table_file=taken", "--rendezvous=worker"], 2, "USAGE", "is a folder"),
)
# The same for variables: name of the requirement, variables, status, code, words.
VARIABLES = (
    ("R-29", {"MS_ENABLE_RECOVERY": "1"}, 3, "RECOVERY_STATE", "MS_RECOVERY_PATH"),
    ("R-29", {"MS_ENABLE_RECOVERY": "1", "MS_RECOVERY_PATH": "missing"}, 3, "RECOVERY_STATE", "missing"),
    ("R-29", {"MS_ENABLE_RECOVERY": "1", "MS_RECOVERY_PATH": "broken"}, 3, "RECOVERY_STATE", "recovery.dat"),
    ("R-29", {"MS_ENABLE_RECOVERY": "1", "MS_RECOVERY_PATH": "net.py"}, 3, "RECOVERY_STATE", "net.py"),
    ("R-29", {"MS_ENABLE_RECOVERY": "1", "MS_RECOVERY_PATH": "other"}, 3, "RECOVERY_STATE", "other/recovery.dat"),
    ("R-22", {"MS_NODE_TIMEOUT": "soon"}, 2, "USAGE", "MS_NODE_TIMEOUT"),
    ("R-63", {"PATH": "/nowhere"}, 3, "NO_INTERPRETER", "python"),
    ("R-65", {"MS_SIMULATION_LEVEL": "much"}, 2, "USAGE", "MS_SIMULATION_LEVEL"),
)


class BadInputTest(launch.LaunchTest):
    def setUp(self):
        super().setUp()
        self.write("net.py", "print('must not run')\n")
        (self.folder / "taken/worker_0.log").mkdir(parents=True)
        (self.folder / "broken").mkdir()
        self.write("broken/recovery.dat", "{\"nodes\": 7")
        (self.folder / "other").mkdir()
        shutil.copy(command.SOURCE / "tests/fuzz/corpus/recovery/one_node.json", self.folder / "other/recovery.dat")
        (self.folder / "pipe").mkdir()
        os.mkfifo(self.folder / "pipe/worker_0.log")
        (self.folder / "scheduler/scheduler.log").mkdir(parents=True)
        self.write("server.p12", "no PKCS#12")
        self.write("tls.json", json.dumps({
            "server_cert_path": "server.p12", "client_cert_path": "server.p12", "ca_cert_path": "net.py",
            "cipher_list": "ECDHE-ECDSA-AES128-GCM-SHA256"}))

    def refuse(self, flags, status, code, words, **variables):
        given = {flag.split("=")[0] for flag in flags}
        defaults = [flag for flag in ("--worker_num=2", "--local_worker_num=2", "--join=True", "--master_port=0")
                    if flag.split("=")[0] not in given]
        script = [] if any(not flag.startswith("-") for flag in flags) else ["net.py"]
        flags = sorted(flags, key=lambda flag: not flag.startswith("-"))
        # A flag without its value has to be the last word.
        words_ = [command.MSRUN, *defaults, *flags, *([] if flags == ["--log_dir"] else script)]
        done = subprocess.run(words_, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.variables(**variables), timeout=launch.SECONDS)
        run = command.Run(done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace"))
        self.assert_refused(run, status, code)
        line = [line for line in run.err.splitlines() if "error[" in line][0]
        self.assertIn(words.lower(), line.lower())
        self.assertIn("hint: ", line)
        self.assertEqual(self.marked(), [])
        self.assertEqual([name for name in self.files(".") if name.endswith((".lock", ".tmp"))], [])

    def test_every_line_of_the_table(self):
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            holder.listen()
            port = str(holder.getsockname()[1])
            for name, flags, status, code, words in TABLE:
                with self.subTest(name + " " + " ".join(flags)[:80]):
                    self.refuse([flag.replace("PORT", port) for flag in flags], status, code,
                                words.replace("PORT", port))

    def test_every_variable(self):
        for name, variables, status, code, words in VARIABLES:
            with self.subTest("%s %s" % (name, variables)):
                self.refuse(["--rendezvous=worker"], status, code, words, **variables)


if __name__ == "__main__":
    sys.exit(unittest.main())
