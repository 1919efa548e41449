"""Scripts that do not end well, and scripts that write to stdout."""

import json
import os
import signal
import subprocess
import textwrap

import command

WAIT = "while True:\n    time.sleep(3600)\n"


class BadScriptTest(command.CommandTest):
    def reject(self, text, pattern, status=6):
        self.write("net.py", text)
        run = self.msrun("--log_dir=out", "net.py")
        self.assert_rejected(run, status)
        self.assertRegex(run.errors()[0], pattern)
        self.assertNotIn("drydock_run", run.err)  # the user's frames only
        return run

    def test_syntax_error(self):
        self.reject("import mindspore\ndef f(:\n    pass\n", r"^net\.py:2:7: error: SyntaxError")

    def test_missing_import(self):
        run = self.reject("import mindspore\nimport no_such_module\n",
                          r"^net\.py:2(:\d+)?: error: ModuleNotFoundError: No module named 'no_such_module'")
        self.assertIn("no_such_module", run.hint())

    def test_no_network(self):
        run = self.reject("x = 1\n", r"without calling a network")
        self.assertNotEqual(run.hint(), "")

    def test_empty_script(self):
        self.reject("", r"without calling a network")

    def test_raised_error(self):
        run = self.reject("def f():\n    raise ValueError('no luck')\nf()\n", r"^net\.py:2(:\d+)?: error: ValueError: no luck")
        self.assertIn("net.py:3", run.err)

    def test_name_with_bytes_that_are_no_text(self):
        name = os.fsdecode(b"net-\xff.py")
        self.write(name, command.network())
        self.assert_accepted(self.msrun(name))
        self.write(name, "raise ValueError('no luck')\n")
        self.assertRegex(self.msrun(name).errors()[0], r":1: error: ValueError: no luck|:1:1: error: ValueError: no luck")

    def test_name_without_its_ending_is_no_module(self):
        self.write("my_own_net.py", command.network())
        run = self.msrun("--log_dir=out", "my_own_net")
        self.assertEqual((run.status, run.hint()), (3, "did you mean 'my_own_net.py'?"), run.err)

    def test_interpreter_without_its_home(self):
        self.write("net.py", command.network())
        run = self.msrun("net.py", PYTHONHOME="/nonexistent")
        self.assertEqual(run.status, 3, run.err)
        self.assertIn("unset PYTHONHOME", run.hint())

    def test_exit_status_of_the_script(self):
        self.reject("import sys\nsys.exit(3)\n", r"exit status 3")

    def test_text_given_to_exit_is_shown(self):
        self.assertIn("no data today", self.reject("import sys\nsys.exit('no data today')\n", r"exit status 1").err)
        self.assertIn(": no data today", self.report("summary.json", "out")["error"]["message"])

    AFTER = command.network(before="from mindspore.communication import init\ninit()") + "y = 1\n"

    def test_failure_behind_the_network_is_one_diagnostic(self):
        line = self.AFTER.count("\n") + 1
        for text in ("1 / 0\n", "raise ValueError('late')\n"):
            self.write("net.py", self.AFTER + text)
            run = self.msrun("--log_dir=late", "net.py")
            self.assertEqual(run.status, 0, run.err)
            found = [d for d in self.report("summary.json", "late")["diagnostics"] if d["code"] == "script-failed"]
            self.assertEqual(len(found), 1)
            self.assertIn("net.py:%d" % line, found[0]["text"])
            self.assertIn("net.py:%d" % line, run.err)
            self.assertEqual(self.msrun("--strict", "--log_dir=late", "net.py").status, 6)

    def test_failure_before_the_network_is_no_diagnostic_of_what_ran_before(self):
        # A sum over ranks by which they wait for each other is no network.
        before = ("import mindspore as ms\nfrom mindspore import Tensor, nn, ops\nfrom mindspore.communication import init\n"
                  "ms.set_context(mode=ms.GRAPH_MODE)\ninit()\n\n\nclass Wait(nn.Cell):\n    def __init__(self):\n        super().__init__()\n"
                  "        self.sum = ops.AllReduce()\n\n    def construct(self, x):\n        return self.sum(x)\n\n\n"
                  "y = Wait()(Tensor([1.0], ms.float32))\n")
        self.reject(before + "{}['network']\n", r"network")
        self.reject(before + "import sys\nsys.exit(3)\n", r"exit status 3")
        self.write("net.py", before + "assert y.asnumpy()[0] == 1.0\n")  # zeros are all that a dry run computes
        run = self.msrun("--log_dir=late", "net.py")
        self.assertEqual(run.status, 0, run.err)

    def test_callbacks_are_entered_and_left(self):
        self.write("net.py", command.network(before="from mindspore.communication import init\ninit()") + textwrap.dedent("""
            class Both(ms.train.Callback):
                def __init__(self, name):
                    super().__init__()
                    self.name, self.open = name, None

                def __enter__(self):
                    self.open = []
                    return self

                def __exit__(self, *error):
                    print("left", self.name, self.open)

                def on_train_step_end(self, run_context):
                    self.open.append("step")


            import numpy as np
            rows = ms.dataset.GeneratorDataset(lambda: iter([(np.zeros((4, 8), np.float32), np.zeros((4, 8), np.float32))] * 2), ["x", "y"])
            net = ms.nn.Dense(8, 8)
            model = ms.Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.1))
            model.train(1, rows, callbacks=[Both("a"), Both("b")], dataset_sink_mode=False)
            """))
        run = self.msrun("--log_dir=entered", "net.py")
        self.assertEqual(run.status, 0, run.err)
        self.assertNotIn("failed after", run.err)
        self.assertIn("left b ['step']\nleft a ['step']\n", run.out + run.err)

    def test_reports_of_an_earlier_run_do_not_stay(self):
        self.write("net.py", self.AFTER)
        self.assertEqual(self.msrun("--log_dir=stale", "net.py").status, 0)
        self.assertTrue((self.folder / "stale/memory.json").exists())
        self.write("net.py", "x = 1\n")
        self.assertEqual(self.msrun("--log_dir=stale", "net.py").status, 6)
        self.assertEqual(sorted(path.name for path in (self.folder / "stale").iterdir()), ["summary.json"])

    def test_interrupted_script_has_its_line_and_no_traceback_of_ours(self):
        run = self.reject("def f():\n    raise KeyboardInterrupt\nf()\n", r"^net\.py:2(:\d+)?: error: KeyboardInterrupt: the script was interrupted")
        self.assertNotIn("Traceback", run.err)

    def test_configuration_that_is_legal_python(self):
        # "epochs: int" is an annotation without a value.
        self.write("job.yaml", "epochs: int\n")
        run = self.msrun("--log_dir=out", "job.yaml")
        self.assert_rejected(run, 6)
        self.assertIn("job.yaml is not a Python script", run.err)
        self.assertIn("the Python script that reads it", run.hint())

    def test_interpreter_that_has_what_is_missing_is_named(self):
        """Two interpreters on the search path; the second has the package."""
        for name, found in (("first", 1), ("second", 0)):
            (self.folder / name).mkdir()
            other = self.folder / name / "python3"
            # Asked whether it finds the package, it answers by its exit status.
            other.write_text("#!/bin/sh\nexit %d\n" % found)
            other.chmod(0o755)
        self.write("net.py", "import os\nos.environ['PATH'] = %r\nimport no_such_module\n" % ":".join(
            str(self.folder / name) for name in ("first", "second")))
        run = self.msrun("--log_dir=out", "net.py")
        self.assert_rejected(run, 6)
        self.assertIn("--python=%s" % (self.folder / "second" / "python3"), run.hint())

    def test_arguments_that_the_script_wants(self):
        self.write("net.py", "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\np.parse_args()\n")
        run = self.msrun("--log_dir=out", "net.py")
        self.assertEqual(run.status, 6)
        self.assertIn("required: --data", run.err)
        self.assertIn("msrun [flags] net.py", run.hint())

    def test_main_that_is_never_called(self):
        run = self.reject("def main():\n    pass\n", r"error\[NOTHING_TRACED\]: the script came to its end without calling a network")
        self.assertIn("main() is defined but never called", run.hint())

    def test_killed_script(self):
        self.reject("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", r"signal 9")

    def test_script_that_leaves_without_a_word(self):
        self.reject("import os\nos._exit(0)\n", r"before its network could be collected")

    def test_endless_recursion(self):
        self.reject("def f():\n    return f()\nf()\n", r"^net\.py:2(:\d+)?: error: RecursionError")

    def test_binary_script(self):
        run = self.reject(b"\x00\xff\xfe\x1b[31m", r"^net\.py(:\d+)*: error: SyntaxError: ")
        self.assertNotIn("\x1b", run.err)

    def test_number_that_no_graph_can_hold(self):
        text = command.network().replace("self.mm(x, self.w)", "ops.reshape(x, (10 ** 19, 2))")
        self.reject(text, r"^net\.py:11(:\d+)?: error: ValueError: number 0x8ac7230489e80000 does not fit 64 bits")

    def test_missing_script(self):
        run = self.msrun("--log_dir=out", "nowhere.py")
        self.assert_rejected(run, 3)
        self.assertIn("nowhere.py", run.errors()[0])

    def test_time_limit(self):
        self.write("net.py", "while True:\n    pass\n")
        run = self.msrun("--trace_timeout=1", "--log_dir=out", "net.py")
        self.assert_rejected(run, 6)
        self.assertIn("within 1 s", run.errors()[0])
        # Nobody knows what the script had set.
        self.assertEqual(self.report("summary.json", "out")["checked"]["parallel_mode"], "")

    def test_summary_of_a_failed_script_says_what_it_had_set(self):
        self.reject("import mindspore as ms\nms.set_context(device_target='GPU')\n"
                    "ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel', full_batch=True)\n1 / 0\n",
                    r"^net\.py:4(:\d+)?: error: ZeroDivisionError")
        checked = self.report("summary.json", "out")["checked"]
        self.assertEqual([checked[name] for name in ("parallel_mode", "dataset_strategy", "device_target")],
                         ["semi_auto_parallel", "full_batch", "GPU"])

    def test_input_is_not_waited_for(self):
        run = self.reject("name = input('who?\\n')\n", r"^net\.py:1(:\d+)?: error: EOFError")
        self.assertIn("standard input is empty", run.hint())


class StandardOutputTest(command.CommandTest):
    NOISE = "print('from print')\nimport os, subprocess\nos.write(1, b'from write\\n')\nsubprocess.call(['echo', 'from a child'])\n"

    def test_script_does_not_write_into_the_answer(self):
        self.write("net.py", self.NOISE + command.network("((2, 4), (4, 1))") + self.NOISE)
        run = self.msrun("--json", "net.py")
        self.assert_accepted(run)
        self.assertEqual(json.loads(run.out)["verdict"], "ok")
        for text in ("from print", "from write", "from a child"):
            self.assertEqual(run.err.count(text), 2)

    def test_rejected_job_is_one_document_too(self):
        self.write("net.py", self.NOISE + command.network("((2, 3), (3, 1))"))
        run = self.msrun("--json", "net.py")
        self.assertEqual(run.status, 6)
        self.assertEqual(json.loads(run.out)["verdict"], "rejected")
        self.assertEqual(json.loads(run.out), self.report("summary.json"))


class InterruptTest(command.CommandTest):
    def interrupt(self, number, script, lines):
        """Starts the command, waits for `lines` lines of the script, sends the signal; what the script wrote."""
        self.write("net.py", "import os, signal, subprocess, sys, time\n" + script)
        with subprocess.Popen(self.command("--log_dir=out", "net.py"), cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=command.environment(self.temporary)) as process:
            written = [process.stderr.readline().decode().strip() for _ in range(lines)]
            process.send_signal(number)
            out, err = process.communicate(timeout=command.SECONDS)
        run = command.Run(process.returncode, out.decode(), err.decode())
        self.assert_rejected(run, 128 + number)
        self.assertEqual(self.left_over(), [])
        return written

    def assert_gone(self, process_id):
        with self.assertRaises(ProcessLookupError):
            os.kill(int(process_id), 0)

    def test_endless_loop(self):
        (process_id,) = self.interrupt(signal.SIGINT, "print(os.getpid(), flush=True)\n" + WAIT, 1)
        self.assert_gone(process_id)

    def test_terminate(self):
        (process_id,) = self.interrupt(signal.SIGTERM, "print(os.getpid(), flush=True)\n" + WAIT, 1)
        self.assert_gone(process_id)

    def test_script_that_ignores_the_signal(self):
        script = ("for number in (signal.SIGINT, signal.SIGTERM):\n    signal.signal(number, signal.SIG_IGN)\n"
                  "print(os.getpid(), flush=True)\n")
        (process_id,) = self.interrupt(signal.SIGINT, script + WAIT, 1)
        self.assert_gone(process_id)

    def test_process_that_the_script_started(self):
        script = ("print(os.getpid(), flush=True)\n"
                  "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)']).pid, flush=True)\n")
        script_id, child_id = self.interrupt(signal.SIGINT, script + WAIT, 2)
        self.assert_gone(script_id)
        self.assert_gone(child_id)
