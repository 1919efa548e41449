"""mpirun, ours and the real one: `drydock mpirun` has its flags, output and log folders; under Open MPI each msrun is
a node of one job."""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import command
import launch
import launch_torch_test

DRYDOCK = str(Path(command.MSRUN).with_name("drydock"))
SHOW = """import os
print("PLACE", *(os.environ.get(name) for name in (
    "RANK_ID", "RANK_SIZE", "DEVICE_ID", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MS_NODE_RANK")), flush=True)
"""
SUM = """import torch, torch.distributed as group
group.init_process_group("gloo")
value = torch.ones(1) * (group.get_rank() + 1)
group.all_reduce(value)
print("SUM %d of %d is %d" % (group.get_rank(), group.get_world_size(), value.item()), flush=True)
"""


def reason_without_open_mpi():
    program = shutil.which("mpirun")
    if not program:
        return "there is no mpirun (package openmpi-bin)"
    answer = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            check=False).stdout
    return "" if "Open MPI" in answer else "mpirun is not Open MPI: " + answer[:80]


REASON = reason_without_open_mpi()


class MpirunTest(launch.LaunchTest):
    """The page's flags on one machine; needs no MPI."""

    def mpirun(self, *arguments, **variables):
        done = subprocess.run([DRYDOCK, "mpirun", *map(str, arguments)], cwd=self.folder, timeout=launch.SECONDS,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.variables(**variables), check=False)
        self.assertEqual(self.marked(), [], done.stderr)
        return command.Run(done.returncode, done.stdout, done.stderr)

    def test_page_002_one_machine(self):
        """mpirun -n 8 --output-filename log_output --merge-stderr-to-stdout python net.py"""
        self.write("net.py", SHOW + "import sys\nprint('error', file=sys.stderr)\n")
        run = self.mpirun("-n", 8, "--output-filename", "log_output", "--merge-stderr-to-stdout",
                          "--allow-run-as-root", "-bind-to", "none", sys.executable, "net.py")
        self.assertEqual(run.status, 0, run.err)
        for rank in range(8):
            self.assertEqual(self.log("log_output/1/rank.%d/stdout" % rank).splitlines(),
                             ["PLACE %d 8 %d %d 8 -1" % (rank, rank, rank), "error"])
        self.assertEqual(run.out.count("PLACE"), 8)

    def test_errors_have_a_file_and_a_stream_of_their_own(self):
        run = self.mpirun("-n", 11, "--output-filename", "log", "bash", "-c", "echo out; echo wrong >&2")
        self.assertEqual((run.status, run.out.count("out\n"), run.err.count("wrong\n")), (0, 11, 11))
        # As many digits as the last rank has.
        self.assertEqual((self.log("log/1/rank.03/stdout"), self.log("log/1/rank.10/stderr")), ("out\n", "wrong\n"))

    def test_without_a_folder_nothing_is_written(self):
        run = self.mpirun("-n", 2, "bash", "-c", "echo $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE; echo e >&2")
        self.assertEqual((run.status, sorted(run.out.splitlines()), run.err), (0, ["0 of 2", "1 of 2"], "e\ne\n"))
        self.assertEqual(self.files("."), [])

    def test_first_failure_ends_the_others(self):
        run = self.mpirun("-n", 3, "bash", "-c", "if [ $RANK = 1 ]; then exit 3; fi; exec sleep 60")
        self.assertEqual(run.status, 1)
        self.assertIn("rank 1", run.err)
        self.assertIn("exit status 3", run.err)

    def test_orte_abort_on_non_zero_status(self):
        run = self.mpirun("-n", 3, "-mca", "orte_abort_on_non_zero_status", "0", "bash", "-c",
                          "if [ $RANK = 1 ]; then exit 3; fi; sleep 0.5; echo done $RANK")
        self.assertEqual((run.status, sorted(run.out.splitlines())), (1, ["done 0", "done 2"]))
        self.assertIn("error[RANK_FAILED]: rank 1", run.err)

    def test_variables_and_folder(self):
        (self.folder / "inner").mkdir()
        run = self.mpirun("-n", 1, "-x", "A=b=c", "-wdir", "inner", "bash", "-c", "echo $A; basename $PWD")
        self.assertEqual((run.status, run.out), (0, "b=c\ninner\n"), run.err)

    def test_input_is_that_of_rank_0(self):
        done = subprocess.run([DRYDOCK, "mpirun", "-n", "2", "bash", "-c", "cat | sed s/^/$RANK/"], input="line\n",
                              capture_output=True, text=True, timeout=launch.SECONDS, env=self.variables(), check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "0line\n"), done.stderr)

    def test_hosts_of_this_machine(self):
        self.write("hosts", "localhost slots=3  # all\n")
        run = self.mpirun("--hostfile", "hosts", "bash", "-c", "echo $RANK")
        self.assertEqual((run.status, sorted(run.out.split())), (0, ["0", "1", "2"]), run.err)

    def test_dry_run_needs_no_host(self):
        """mpirun -n 16 -H DEVICE1_IP:8,DEVICE2_IP:8 python net.py"""
        run = self.mpirun("-n", 16, "-H", "203.0.113.1:8,203.0.113.2:8", "--sim_level=1", "--output-filename", "log_output",
                          "python", command.EXAMPLES / "quickstart/net.py", PATH=os.environ["PATH"])
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("16 ranks", run.out)
        self.assertIn("summary.json", self.files("log_output"))

    def test_bad_input_is_one_line(self):
        self.write("twice", "a slots=2\na slots=3\n")
        self.write("few", "localhost slots=2 max_slots=2\n")
        self.write("aliases", "localhost slots=2\n127.0.0.1 slots=2\n")
        for arguments, status, what in (
                (["-n", 3, "-H", "localhost:2", "true"], 2, "3 ranks, but the hosts have 2 slots"),
                (["-n", 3, "--hostfile", "few", "true"], 2, "2 slots at most; hint: name more hosts"),
                (["-n", 1, "--bind-to", "chair", "true"], 2, "choose from none, core"),
                (["-n", 1, "--output-filename", "few", "true"], 3, "choose another folder with --output-filename"),
                (["-n", 1, "-H", "nobody.invalid", "true"], 3, "nobody.invalid"),
                (["--hostfile", "twice", "true"], 2, "twice:2"),
                (["--hostfile", "missing", "true"], 2, "missing"),
                (["--hostfile", "aliases", "true"], 2, "'localhost' and '127.0.0.1' are both this machine"),
                (["-n", 2, "-H", "", "true"], 2, "a name is empty"),
                (["-n", 2, "-H", "localhost,", "true"], 2, "a name is empty in 'localhost,'"),
                (["-n", 99999999, "true"], 3, "99999999 ranks on this node, which has room for"),
                (["-n", 0, "true"], 2, "greater than 0"),
                (["-n", -1, "true"], 2, "greater than 0"),
                (["-n", 2], 2, "task_script"),
                (["-n", 2, "--worker_num=3", "true"], 2, "give the number of ranks with -n"),
                (["-n", 1, "true", ":", "-n", 1, "true"], 8, "several programs")):
            run = self.mpirun(*arguments)
            self.assertEqual(run.status, status, run.err)
            self.assertEqual(len([line for line in run.err.splitlines() if "error[" in line]), 1, run.err)
            self.assertIn(what, run.err)

    def test_no_open_mpi_for_another_host(self):
        run = self.mpirun("-n", 1, "-H", "203.0.113.1", "true", PATH="/nonexistent")
        self.assertEqual(run.status, 3)
        self.assertIn("error[NO_MPI]: host '203.0.113.1' is another machine", run.err)

    def test_other_or_old_mpi_is_refused(self):
        for text, what in (("HYDRA build details:", "is not Open MPI"), ("mpirun (Open MPI) 1.10.7", "is Open MPI 1")):
            (self.folder / "bin").mkdir(exist_ok=True)
            self.write("bin/mpirun", "#!/bin/sh\necho '%s'\n" % text)
            os.chmod(self.folder / "bin/mpirun", 0o755)
            run = self.mpirun("-n", 1, "-H", "203.0.113.1", "true", PATH=str(self.folder / "bin"))
            self.assertEqual(run.status, 3)
            self.assertIn(what, run.err)

    def test_another_host_is_left_to_open_mpi(self):
        (self.folder / "bin").mkdir()
        self.write("bin/mpirun", """#!/bin/sh
if [ "$1" = --version ]; then echo "mpirun (Open MPI) 4.1.4"; else echo got "$@"; fi
""")
        os.chmod(self.folder / "bin/mpirun", 0o755)
        run = self.mpirun("-n", 1, "-H", "203.0.113.1", "-mca", "a", "b", "true", PATH=str(self.folder / "bin") + ":/usr/bin:/bin")
        self.assertEqual((run.status, run.out), (0, "got -n 1 -H 203.0.113.1 -mca a b true\n"), run.err)


@unittest.skipIf(REASON, REASON)
class UnderOpenMpiTest(launch.LaunchTest):
    def under(self, ranks, *arguments, **variables):
        """`mpirun -n RANKS ...` of Open MPI."""
        run = launch.open_mpi(ranks, *arguments, cwd=self.folder, env=self.variables(TMPDIR="/tmp", **variables))
        # What mpirun ends it does not always wait for.
        self.assertTrue(launch.wait_until(lambda: not self.marked()), "processes are left: " + run.err)
        return run

    def port(self):
        return "--master_port=%d" % launch.free_port()

    def test_each_msrun_is_a_node(self):
        self.write("show.py", SHOW)
        run = self.under(3, command.MSRUN, self.port(), "--local_worker_num=2", "--log_dir=out", "show.py")
        self.assertEqual(run.status, 0, run.err)
        for rank in range(6):
            self.assertIn("PLACE %d 6 %d %d 6 %d\n" % (rank, rank, rank, rank // 2), self.log("out/worker_%d.log" % rank))

    def test_no_flag_is_repeated(self):
        self.write("show.py", SHOW)
        run = self.under(2, command.MSRUN, self.port(), "show.py")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(sorted(line for line in run.out.splitlines() if line.startswith("PLACE")),
                         ["PLACE 0 2 0 0 2 0", "PLACE 1 2 1 1 2 1"])

    @unittest.skipIf(launch_torch_test.REASON, launch_torch_test.REASON)
    def test_torch_sums(self):
        self.write("sum.py", SUM)
        run = self.under(2, command.MSRUN, self.port(), "--local_worker_num=2", "--python=" + launch_torch_test.PYTHON, "sum.py",
                         GLOO_SOCKET_IFNAME="lo")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(sorted(line for line in run.out.splitlines() if line.startswith("SUM")),
                         ["SUM %d of 4 is 10" % rank for rank in range(4)])  # 1 + 2 + 3 + 4

    def test_contradiction_names_both(self):
        run = self.under(2, command.MSRUN, "--worker_num=3", "--local_worker_num=1", "show.py")
        self.assertEqual(run.status, 2)
        self.assertIn("--worker_num=3", run.err)
        self.assertIn("OMPI_COMM_WORLD_SIZE=2 of Open MPI", run.err)

    def test_rank_that_fails_ends_all(self):
        run = self.under(2, command.MSRUN, self.port(), "--rendezvous=launcher", "--log_dir=out", "bash", "-c",
                         "if [ $RANK = 1 ]; then echo cause; exit 3; fi; exec sleep 60")
        self.assertNotEqual(run.status, 0)
        self.assertIn("first: rank 1", run.err)
        self.assertEqual(self.log("out/worker_1.log"), "cause\n")

    def test_one_process_stays_until_the_end(self):
        """mpirun would end what it leaves behind."""
        run = self.under(1, command.MSRUN, self.port(), "--worker_num=2", "--local_worker_num=2", "bash", "-c", "sleep 0.5; echo end $RANK")
        self.assertEqual((run.status, sorted(line for line in run.out.splitlines() if line.startswith("end"))), (0, ["end 0", "end 1"]), run.err)

    def test_dry_run_is_played_once(self):
        run = self.under(4, command.MSRUN, "--sim_level=1", "--worker_num=8", "--log_dir=out", command.EXAMPLES / "quickstart/net.py")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(run.out.count(": 8 ranks"), 1, run.out)

    def test_drydock_mpirun_under_mpirun_is_a_job_of_its_own(self):
        run = self.under(1, DRYDOCK, "mpirun", "-n", 2, "bash", "-c", "echo place $RANK of $WORLD_SIZE")
        self.assertEqual((run.status, sorted(line for line in run.out.splitlines() if "place" in line)),
                         (0, ["place 0 of 2", "place 1 of 2"]), run.err)


if __name__ == "__main__":
    unittest.main()
