"""What a rank gets from its launcher, and what the launcher shows of it."""

import os
import pty
import shutil
import subprocess
import sys
import unittest

import command
import launch

SHOW = '''import os
for name in sorted(os.environ):
    print(name + "=" + os.environ[name])
'''


REAL_PYTEST = subprocess.run(["/usr/bin/python3", "-c", "import pytest"], stderr=subprocess.DEVNULL,
                             check=False).returncode == 0


class AloneTest(launch.LaunchTest):
    """A copy of msrun without drydock beside it."""

    def alone(self, *words, name="msrun"):
        program = self.folder / name
        shutil.copy(command.MSRUN, program)
        done = subprocess.run([program, *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        program.unlink()
        return done

    def test_starts_ranks(self):
        done = self.alone("--rendezvous=launcher", "--master_port=0", "--worker_num=2", "--local_worker_num=2", "--join=True", "true")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_says_what_is_missing(self):
        self.write("net.py", "")
        for words in (["--sim_level=1", "--worker_num=2", "net.py"], ["--list_operators"],
                      ["--worker_num=2", "--local_worker_num=2", "--tls_config=a.json", "net.py"]):
            for name in ("msrun", "drydock"):  # the second would find itself again and again
                done = self.alone(*words, name=name)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertRegex(done.stderr, r"error\[NO_TRACER\]: the program drydock is not beside .*/%s;" % name)


class EnvironmentTest(launch.LaunchTest):
    def show(self, ranks, *flags, **variables):
        self.write("show.py", SHOW)
        run = self.launch(ranks, *flags, "show.py", **variables)
        self.assertEqual(run.status, 0, run.err)
        return [dict(line.split("=", 1) for line in self.log("worker_%d.log" % rank).splitlines() if "=" in line)
                for rank in range(ranks)]

    def test_mindspore_variables(self):
        port = str(launch.free_port())
        for rank, seen in enumerate(self.show(2, "--master_port=" + port, "--cluster_time_out=77")):
            self.assertEqual({name: seen.get(name) for name in (
                "MS_ROLE", "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_WORKER_NUM", "MS_TOPO_TIMEOUT", "RANK_SIZE",
                "RANK_ID", "MS_NODE_ID", "DEVICE_ID", "MS_NODE_RANK")}, {
                    "MS_ROLE": "MS_WORKER", "MS_SCHED_HOST": "127.0.0.1", "MS_SCHED_PORT": port,
                    "MS_WORKER_NUM": "2", "MS_TOPO_TIMEOUT": "77", "RANK_SIZE": "2", "RANK_ID": str(rank),
                    "MS_NODE_ID": str(rank), "DEVICE_ID": str(rank), "MS_NODE_RANK": "-1"})

    def test_variables_of_other_launchers(self):
        port = str(launch.free_port())
        for rank, seen in enumerate(self.show(2, "--rendezvous=launcher", "--script_port=" + port)):
            self.assertNotIn("MS_ROLE", seen)
            self.assertNotIn("MS_SCHED_HOST", seen)
            self.assertEqual({name: seen.get(name) for name in (
                "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT",
                "TORCHELASTIC_USE_AGENT_STORE", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM",
                "PADDLE_CURRENT_ENDPOINT", "PADDLE_TRAINER_ENDPOINTS")}, {
                    "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2",
                    "GROUP_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
                    "TORCHELASTIC_USE_AGENT_STORE": "False", "PADDLE_TRAINER_ID": str(rank),
                    "PADDLE_TRAINERS_NUM": "2", "PADDLE_CURRENT_ENDPOINT": "127.0.0.1:%d" % (6070 + rank),
                    "PADDLE_TRAINER_ENDPOINTS": "127.0.0.1:6070,127.0.0.1:6071"})

    def test_r65_variables_of_an_earlier_job_do_not_shine_through(self):
        seen = self.show(1, "--rendezvous=launcher", RANK_ID="7", MS_NODE_ID="7", MS_ROLE="MS_SCHED", RANK="7")[0]
        self.assertEqual((seen["RANK_ID"], seen["MS_NODE_ID"], seen["RANK"]), ("0", "0", "0"))
        self.assertNotIn("MS_ROLE", seen)

    def test_mindspore_script_that_registers_nobody(self):
        """MS_ROLE is not set then, without which init() does not look for a scheduler."""
        self.write("net.py", "import os\nif os.environ.get('MS_ROLE'):\n    import mindspore\n")
        run = self.launch(1, "--rendezvous=launcher", "net.py")
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("MindSpore's init() finds no scheduler with --rendezvous=launcher", run.err)

    def test_rank_table(self):
        self.write("table.json", "{}")
        seen = self.show(1, "--rendezvous=launcher", "--rank_table_file=table.json")[0]
        self.assertEqual(seen["RANK_TABLE_FILE"], "table.json")

    def test_r54_only_the_standard_descriptors_are_open(self):
        self.write("fds.py", "import os\nprint(sorted(os.listdir('/proc/self/fd'), key=int)[:4])\n")
        self.assertEqual(self.launch(1, "--rendezvous=launcher", "fds.py").status, 0)
        # The fourth is the one that lists the folder.
        self.assertEqual(self.log("worker_0.log").strip(), "['0', '1', '2', '3']")

    def test_r54_signals_have_their_default_actions(self):
        self.assertEqual(self.launch(1, "--rendezvous=launcher", "bash", "-c", "cat /proc/self/status").status, 0)
        status = dict(line.split(":\t", 1) for line in self.log("worker_0.log").splitlines() if ":\t" in line)
        # Signals 32 and above are the C library's and the real-time ones: nobody but the parent's parent sets those.
        standard = (1 << 31) - 1
        self.assertEqual((int(status["SigIgn"], 16) & standard, int(status["SigBlk"], 16)), (0, 0))


class WrongStartTest(launch.LaunchTest):
    """A job that starts although a dry run was meant, or that can only fail."""

    def test_level_behind_the_script(self):
        self.write("net.py", "pass\n")
        run = self.launch(1, "--rendezvous=launcher", "net.py", "--sim_level=1")
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("'--sim_level=1' stands behind the script and is handed to it", run.err)
        self.assertIn("put it in front", run.err)

    def test_framework_that_is_not_installed(self):
        self.write("net.py", "import mindspore\n")
        (self.folder / "venv/bin").mkdir(parents=True)
        os.symlink(os.path.realpath(sys.executable), self.folder / "venv/bin/python3")
        self.write("venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n")
        python = "--python=%s" % (self.folder / "venv/bin/python3")
        run = self.launch(1, "--rendezvous=launcher", python, "net.py", PYTHONPATH="")
        self.assertEqual(run.status, 1, run.err)
        self.assertIn("MindSpore is not installed for", run.err)
        self.assertIn("a dry run (--sim_level=1) needs none", run.err)
        self.write("mindspore.py", "")
        run = self.launch(1, "--rendezvous=launcher", python, "net.py", PYTHONPATH="")
        self.assertEqual(run.status, 0, run.err)
        self.assertNotIn("is not installed", run.err)


class CommandKindTest(launch.LaunchTest):
    def test_bash(self):
        run = self.launch(2, "bash", "-c", "echo rank $RANK of $WORLD_SIZE")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual([self.log("worker_%d.log" % rank) for rank in (0, 1)], ["rank 0 of 2\n", "rank 1 of 2\n"])

    def test_executable_shell_script(self):
        self.write("job.sh", "#!/bin/sh\necho $1 $RANK_ID\n")
        os.chmod(self.folder / "job.sh", 0o755)
        self.assertEqual(self.launch(2, "job.sh", "hello").status, 0)
        self.assertEqual(self.log("worker_1.log"), "hello 1\n")

    def test_compiled_program(self):
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("g++")
        if not compiler:
            self.skipTest("there is no C compiler")
        self.write("rank.c", '#include <stdio.h>\n#include <stdlib.h>\nint main(void) '
                             '{ printf("%s\\n", getenv("RANK_ID")); return 0; }\n')
        subprocess.run([compiler, "-o", "rank", "rank.c"], cwd=self.folder, check=True)
        self.assertEqual(self.launch(3, "./rank").status, 0)
        self.assertEqual(self.log("worker_2.log"), "2\n")

    def test_pytest(self):
        self.write("case_test.py", "import os\ndef test_rank():\n    print('rank', os.environ['RANK_ID'])\n")
        # A program of that name in PATH that uses a pytest we have, or tells what it was given.
        self.write("pytest", "#!/bin/sh\necho pytest \"$@\" rank $RANK_ID\n")
        os.chmod(self.folder / "pytest", 0o755)
        path = str(self.folder) + os.pathsep + os.environ["PATH"]
        self.assertEqual(self.launch(2, "pytest", "-s", "case_test.py", PATH=path).status, 0)
        self.assertEqual(self.log("worker_1.log"), "pytest -s case_test.py rank 1\n")

    @unittest.skipUnless(REAL_PYTEST, "there is no pytest (package python3-pytest)")
    def test_real_pytest_as_script(self):
        self.write("case_test.py", "import os\ndef test_rank():\n    print('rank', os.environ['RANK_ID'])\n"
                                   "    assert os.environ.get('FAIL') != os.environ['RANK_ID']\n")
        (self.folder / "bin").mkdir()
        self.write("bin/pytest", "#!/bin/sh\nexec /usr/bin/python3 -m pytest -p no:cacheprovider \"$@\"\n")
        os.chmod(self.folder / "bin/pytest", 0o755)
        path = str(self.folder / "bin") + os.pathsep + os.environ["PATH"]
        run = self.launch(2, "pytest", "-s", "case_test.py", PATH=path)
        self.assertEqual(run.status, 0, run.err)
        for rank in range(2):
            self.assertIn("rank %d" % rank, self.log("worker_%d.log" % rank))
            self.assertIn("1 passed", self.log("worker_%d.log" % rank))
        run = self.launch(2, "pytest", "-s", "case_test.py", PATH=path, FAIL="1")
        self.assertEqual(run.status, 1, run.err)
        self.assertRegex(run.err, r"error\[RANK_FAILED\]: rank 1 ")
        self.assertIn("1 failed", run.err)  # the end of its log is shown

    def test_python_with_a_module(self):
        self.write("part.py", "import os\nprint('part', os.environ['RANK_ID'])\n")
        self.assertEqual(self.launch(2, "python3", "-m", "part").status, 0)
        self.assertEqual(self.log("worker_1.log"), "part 1\n")

    def test_r63_script_that_is_not_executable(self):
        self.write("plain.py", "import sys\nprint(sys.argv[1:])\n")
        self.assertEqual(self.launch(1, "plain.py", "--lr", "1", "--join=False").status, 0)
        self.assertEqual(self.log("worker_0.log"), "['--lr', '1', '--join=False']\n")


class ConsoleTest(launch.LaunchTest):
    def setUp(self):
        super().setUp()
        self.write("say.py", "import os\nprint('from', os.environ['RANK_ID'])\nprint('twice')\n")

    def shown(self, *flags):
        run = self.launch(3, "--rendezvous=launcher", "--quiet", *flags, "say.py")
        self.assertEqual((run.status, run.err), (0, ""))
        return run.out.splitlines()

    def test_all_ranks_are_shown(self):
        self.assertEqual(sorted(self.shown()), ["from 0", "from 1", "from 2", "twice", "twice", "twice"])

    def test_chosen_ranks_are_shown(self):
        self.assertEqual(sorted(self.shown("--tail_worker_log=0,2")), ["from 0", "from 2", "twice", "twice"])

    def test_lines_carry_their_rank(self):
        self.assertEqual(sorted(self.shown("--tag_output", "--tail_worker_log=1")), ["[1] from 1", "[1] twice"])

    def test_start_is_announced_as_by_the_original(self):
        run = self.launch(1, "--rendezvous=launcher", "--tail_worker_log=0", "say.py")
        self.assertEqual(run.out.splitlines()[0], "Start worker process with rank id:0, log file:worker_0.log. "
                                                  "Environment variable [RANK_ID=0] is exported.")

    def test_log_names(self):
        run = self.launch(2, "--rendezvous=launcher", "--log_dir=a/b", "--worker_log_name=w_{ip}", "say.py")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(self.files("a/b"), ["w_127.0.0.1_0.log", "w_127.0.0.1_1.log"])

    def test_r52_line_without_an_end_and_long_lines(self):
        self.write("long.py", "import sys\nsys.stdout.write('x' * 200000 + '\\nend')\n")
        run = self.launch(1, "--rendezvous=launcher", "--quiet", "long.py")
        self.assertEqual(run.out.replace("\n", ""), "x" * 200000 + "end")
        self.assertTrue(run.out.endswith("\nend\n"))

    def test_r53_console_that_goes_away_does_not_stop_the_job(self):
        self.write("much.py", "for i in range(20000):\n    print('line', i)\nopen('done', 'w').close()\n")
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as stdout:
            done = subprocess.run(self.words(1, "--rendezvous=launcher", "much.py"), cwd=self.folder, stdout=stdout,
                                  stderr=subprocess.PIPE, env=self.variables(), timeout=launch.SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "done").exists())


class InputTest(launch.LaunchTest):
    def test_standard_input_reaches_a_rank(self):
        self.write("ask.py", "print('got', input())\n")
        run = self.launch(1, "--rendezvous=launcher", "--quiet", "ask.py", stdin=b"an answer\n")
        self.assertEqual((run.status, run.out), (0, "got an answer\n"))

    def test_pdb_in_a_rank(self):
        self.write("debug.py", "value = 41\nbreakpoint()\nprint('value', value)\n")
        run = self.launch(1, "--rendezvous=launcher", "--quiet", "debug.py", stdin=b"value = value + 1\ncontinue\n")
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("value 42", run.out)

    def test_r54_rank_reads_the_terminal(self):
        """In a process group of its own it would be stopped by the terminal."""
        self.write("ask.py", "print('got', input(), flush=True)\n")
        ours, theirs = pty.openpty()
        try:
            process = subprocess.Popen(self.words(1, "--rendezvous=launcher", "--quiet", "ask.py"), cwd=self.folder,
                                       stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=self.variables(), start_new_session=True)
            self.addCleanup(self.finish, process)
            os.write(ours, b"typed\n")
            out, err = process.communicate(timeout=launch.SECONDS)
        finally:
            os.close(ours)
            os.close(theirs)
        self.assertEqual((process.returncode, out, err), (0, b"got typed\n", b""))


    def test_pdb_on_a_terminal(self):
        """breakpoint() of a chosen rank prompts on the terminal and takes what is typed."""
        self.write("debug.py", "import os, pdb\nvalue = 41\nif os.environ['RANK'] == '0':\n    breakpoint()\n"
                               "print('value', value, flush=True)\n")
        ours, theirs = pty.openpty()
        try:
            process = subprocess.Popen(
                self.words(2, "--rendezvous=launcher", "--quiet", "--tail_worker_log=0", "debug.py"),
                cwd=self.folder, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=self.variables(), start_new_session=True)
            self.addCleanup(self.finish, process)
            self.assertTrue(launch.wait_until(lambda: "(Pdb)" in self.log("worker_0.log")))
            os.write(ours, b"value = value + 1\n")
            os.write(ours, b"continue\n")
            out, err = process.communicate(timeout=launch.SECONDS)
        finally:
            os.close(ours)
            os.close(theirs)
        self.assertEqual((process.returncode, err), (0, b""))
        self.assertIn(b"value 42\n", out)
        self.assertEqual(self.log("worker_1.log"), "value 41\n")


class BindingTest(launch.LaunchTest):
    def setUp(self):
        super().setUp()
        self.cpus = sorted(os.sched_getaffinity(0))
        self.write("cpus.py", "import os\nprint(sorted(os.sched_getaffinity(0)), os.environ.get('MSRUN_CPU_LIST'))\n")

    def test_equal_shares(self):
        if len(self.cpus) < 2:
            self.skipTest("there is one processor only")
        run = self.launch(2, "--rendezvous=launcher", "--bind_core=True", "cpus.py")
        self.assertEqual(run.status, 0, run.err)
        seen = []
        for rank in (0, 1):
            bound, listed = self.log("worker_%d.log" % rank).strip().split("] ")
            bound = [int(word) for word in bound.strip("[").split(",")]
            self.assertEqual(sorted(int(word) for word in listed.strip("[]").split(",")), bound)
            seen.append(bound)
        self.assertEqual(sorted(seen[0] + seen[1]), self.cpus)
        self.assertEqual(len(seen[0]), len(self.cpus) // 2)

    def test_listed_processors(self):
        last = self.cpus[-1]
        run = self.launch(1, "--rendezvous=launcher", '--bind_core={"device0":["%d-%d"]}' % (last, last), "cpus.py")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(self.log("worker_0.log").strip(), "[%d] None" % last)
        self.assertIn("taskset -c %d " % last, run.err)

    def test_r65_processor_that_is_not_there(self):
        run = self.launch(1, '--bind_core={"device0":["1000-1001"]}', "cpus.py")
        self.assert_refused(run, 2, "USAGE")


if __name__ == "__main__":
    sys.exit(unittest.main())
