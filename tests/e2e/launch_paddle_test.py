"""`drydock paddle-launch`: flags, logs, environment and exit rules of paddle.distributed.launch, with scripts that show
what they were given. Real Paddle: tests/interop/paddle_test.py."""

import subprocess
import sys
import unittest
from pathlib import Path

import command
import launch

DRYDOCK = str(Path(command.MSRUN).with_name("drydock"))
SHOW = """import os, sys
print("SEEN", *(os.environ.get(name) for name in %r), *sys.argv[1:])
"""
COLLECTIVE = ["PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_RANK_IN_NODE", "PADDLE_CURRENT_ENDPOINT",
              "PADDLE_TRAINER_ENDPOINTS"]
SERVERS = """import os, sys, time
role, me = os.environ["TRAINING_ROLE"], os.environ["POD_IP"] + ":" + os.environ["PADDLE_PORT"]
servers, trainers = (os.environ[name].split(",") for name in ("PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINER_ENDPOINTS"))
print("SEEN", role, (trainers if role == "TRAINER" else servers).index(me), os.environ.get("PADDLE_TRAINER_ID"),
      os.environ["PADDLE_TRAINERS_NUM"], len(servers), flush=True)
if role != "TRAINER":
    time.sleep(60)
elif sys.argv[1:] == [os.environ["PADDLE_TRAINER_ID"]]:
    sys.exit(3)
time.sleep(0.3)
print("DONE", flush=True)
"""


class PaddleLaunchTest(launch.LaunchTest):
    def run_launch(self, *arguments, **variables):
        done = subprocess.run([DRYDOCK, "paddle-launch", "--python=" + sys.executable, *map(str, arguments)], cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=launch.SECONDS, env=self.variables(**variables), check=False)
        self.assertEqual(self.marked(), [], done.stderr)
        return command.Run(done.returncode, done.stdout, done.stderr)

    def test_collective_environment_logs_and_console(self):
        """--gpus 2,3 train.py --batch_size=64"""
        self.write("train.py", SHOW % COLLECTIVE)
        run = self.run_launch("--gpus", "2,3", "train.py", "--batch_size=64")
        self.assertEqual(run.status, 0, run.err)
        endpoints = self.log("log/endpoints.log").splitlines()
        self.assertEqual(endpoints[0], "PADDLE_TRAINER_ENDPOINTS: ")
        for rank in (0, 1):
            self.assertEqual(self.log("log/workerlog.%d" % rank).split(),
                             ["SEEN", str(rank), "2", str(rank), endpoints[1 + rank], ",".join(endpoints[1:]), "--batch_size=64"])
        self.assertEqual(run.out.count("SEEN"), 1)  # the first rank's

    def test_logs_grow_from_job_to_job(self):
        self.write("train.py", "print('line')")
        for _ in (0, 1):
            run = self.run_launch("--nproc_per_node=1", "train.py")
            self.assertEqual((run.status, run.out), (0, "line\n"), run.err)  # what is new is shown
        self.assertEqual(self.log("log/workerlog.0"), "line\nline\n")

    def test_abort_names_the_ranks(self):
        self.write("train.py", "import os, sys, time\nif os.environ['PADDLE_TRAINER_ID'] == '1':\n    sys.exit(3)\ntime.sleep(60)")
        run = self.run_launch("--nproc_per_node=3", "train.py")
        self.assertEqual(run.status, 1)
        self.assertIn("ABORT!!! Out of all 3 trainers, the trainer process with rank=[1] was aborted. Please check its log.\n", run.err)

    def test_servers_end_with_the_trainers(self):
        self.write("train.py", SERVERS)
        run = self.run_launch("--server_num=2", "--worker_num=3", "train.py")
        self.assertEqual(run.status, 0, run.err)
        for index in (0, 1):
            self.assertEqual(self.log("log/serverlog.%d" % index), "SEEN PSERVER %d None 3 2\n" % index)
        for index in (0, 1, 2):
            self.assertEqual(self.log("log/workerlog.%d" % index), "SEEN TRAINER %d %d 3 2\nDONE\n" % (index, index))

    def test_trainer_that_fails_does_not_end_the_others(self):
        self.write("train.py", SERVERS)
        run = self.run_launch("--server_num=1", "--worker_num=2", "train.py", 1)
        self.assertEqual(run.status, 1)
        self.assertIn("trainer 1", run.err)
        self.assertIn("DONE", self.log("log/workerlog.0"))

    def test_lists_of_endpoints_and_heter_trainers(self):
        self.write("train.py", "import os\nprint(os.environ['TRAINING_ROLE'], os.environ['PADDLE_PORT'], "
                               "os.environ['PADDLE_HETER_TRAINER_IP_PORT_LIST'])\nif os.environ['TRAINING_ROLE'] != 'TRAINER':\n"
                               "    import time\n    time.sleep(60)\n")
        run = self.run_launch("--run_mode=ps-heter", "--servers=127.0.0.1:6170", "--workers=127.0.0.1", "--heter_workers=127.0.0.1:6180",
                              "train.py")
        self.assertEqual(run.status, 0, run.err)
        # Trainers without a port come behind the servers: 6170 + 1.
        self.assertEqual(self.log("log/workerlog.0"), "TRAINER 6171 127.0.0.1:6180\n")

    def test_bad_input_is_one_line(self):
        self.write("train.py", "")
        for arguments, status, what in (
                (["--gpus=0,0", "train.py"], 2, "not a list of devices"),
                (["--gpus=0,x", "train.py"], 2, "not a list of devices"),
                (["--gpus=0,1", "--nproc_per_node=3", "train.py"], 2, "3 ranks on 2 devices"),
                (["--ips=203.0.113.1,203.0.113.2", "train.py"], 2, "none of '203.0.113.1,203.0.113.2'"),
                (["--ips=203.0.113.1,203.0.113.1", "train.py"], 2, "given twice"),
                (["--run_mode=fast", "train.py"], 2, "choose from collective, ps, ps-heter"),
                (["--run_mode=ps", "--ips=127.0.0.1,127.0.0.2", "--server_num=1", "train.py"], 2, "together"),
                (["--server_num=1", "train.py"], 2, "needs servers and trainers"),
                (["--servers=127.0.0.1:1,127.0.0.1:2", "--workers=127.0.0.1:3", "--server_num=3", "train.py"], 2, "contradicts a list of 2"),
                (["--servers=127.0.0.1:6170", "--workers=127.0.0.1:6170", "train.py"], 2, "given twice"),
                (["--servers=203.0.113.1:6170", "--workers=203.0.113.1:6171", "train.py"], 2, "no endpoint of the job"),
                (["--nnodes=2", "train.py"], 2, "need --master"),
                (["--nnodes=1:2", "train.py"], 2, "ranges of nodes"),
                (["--nnodes=0", "train.py"], 2, "from 1 on"),
                (["--master=127.0.0.1:99999", "--nnodes=2", "train.py"], 2, "--master: '127.0.0.1:99999' is not an address with a port"),
                (["--master=127.0.0.1", "--nnodes=2", "train.py"], 2, "--master: '127.0.0.1' is not an address with a port"),
                (["--master=127.0.0.1:8118", "--nnodes=2", "--rank=2", "train.py"], 2, "--rank=2: the job has 2 nodes"),
                (["--nproc_per_node=0", "train.py"], 2, "--nproc_per_node: must be greater than 0"),
                (["--server_num=2", "--worker_num=-1", "train.py"], 2, "--worker_num: -1 is not a number of processes"),
                (["--worker_num=2", "train.py"], 2, "needs servers and trainers"),
                (["--workers=127.0.0.1:6171", "train.py"], 2, "needs servers and trainers"),
                (["--nproc_per_node=1"], 2, "training_script"),
                (["missing.py"], 3, "missing.py")):
            run = self.run_launch(*arguments)
            self.assertEqual(run.status, status, run.err)
            self.assertEqual(len([line for line in run.err.splitlines() if "error[" in line]), 1, run.err)
            self.assertIn(what, run.err)

    def test_visible_devices_limit_the_choice(self):
        self.write("train.py", "")
        run = self.run_launch("--gpus=5", "train.py", CUDA_VISIBLE_DEVICES="2,3")
        self.assertEqual(run.status, 2)
        self.assertIn("device 5 is not among the visible ones", run.err)


if __name__ == "__main__":
    unittest.main()
