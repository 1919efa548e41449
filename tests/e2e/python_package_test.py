"""import drydock: reports as objects; tables; what a notebook shows."""

import importlib.util
import json
import os
import subprocess
import sys
import unittest

import command

PACKAGE = command.SOURCE / "launcher/python"


def load():
    os.environ["DRYDOCK_MSRUN"] = command.MSRUN
    sys.path.insert(0, str(PACKAGE))
    import drydock
    return drydock


class PythonPackageTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.drydock = load()

    def test_reports_become_objects(self):
        self.write("net.py", command.network(shard="((1, 8), (8, 1))"))
        result = self.drydock.dry_run("net.py", ranks=8, html=True, detail="full", cwd=self.folder)
        self.assert_accepted(self.msrun("--worker_num=8", "--log_dir=out", "--detail=full", "net.py"))
        self.assertTrue(result.ok)
        self.assertEqual(result.status, 0)
        self.assertEqual(json.loads(json.dumps(result.memory))["classes"], self.report("memory.json", "out")["classes"])
        self.assertEqual(result.memory.classes[0].actual_peak_bytes, self.report("memory.json", "out")["classes"][0]["actual_peak_bytes"])
        self.assertEqual(len(result.tensors()), len(result.memory.classes[0].tensors))
        self.assertEqual(len(result.collectives()), result.summary.communication.count)
        self.assertEqual(sum(row["sent_bytes"] for row in result.causes().to_dict("records")) if hasattr(result.causes(), "columns")
                         else sum(row["sent_bytes"] for row in result.causes()), result.summary.communication.sent_bytes)
        self.assertIn("iframe", result._repr_html_())
        self.assertIn("drydock-data", result.html())

    def test_the_command_of_the_small_wheel_is_msrun(self):
        """launcher/python/msrun/pyproject.toml has this function as its command."""
        done = subprocess.run([sys.executable, "-c", "import drydock; drydock.run_msrun()", "--sim_level=1", "--worker_num=8", "none.py"],
                              env=dict(os.environ, PYTHONPATH=str(PACKAGE)), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("msrun: error[NO_SCRIPT]: none.py", done.stderr)

    def test_a_rejected_program_is_an_answer(self):
        self.write("net.py", command.network(shard="((3, 1), (1, 1))"))
        result = self.drydock.dry_run("net.py", cwd=self.folder)
        self.assertEqual((result.status, result.verdict, result.ok), (6, "rejected", False))
        self.assertIsNone(result.memory)
        self.assertEqual(result.summary.error.place.line, command.line_of(command.network(shard="((3, 1), (1, 1))"), "ops.MatMul"))
        self.assertIn("rejected", result._repr_html_())

    def test_paddle_launch_is_the_module_that_paddles_users_know(self):
        """`python -m paddle.distributed.launch` with one word changed; the interpreter of the line runs the script."""
        self.write("train.py", "import os, sys\nprint('SEEN', os.environ['PADDLE_TRAINER_ID'], sys.executable, *sys.argv[1:])")
        words = [sys.executable, "-m", "drydock.paddle_launch", "--nproc_per_node=2"]
        environment = dict(command.environment(self.temporary), DRYDOCK_MSRUN=command.MSRUN, PYTHONPATH=str(PACKAGE))
        done = subprocess.run([*words, "train.py", "--lr=1"], cwd=self.folder, env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for rank in (0, 1):
            self.assertEqual((self.folder / ("log/workerlog.%d" % rank)).read_text(), "SEEN %d %s --lr=1\n" % (rank, sys.executable))
        environment["DRYDOCK_MSRUN"] = str(self.folder / "absent/msrun")
        done = subprocess.run([*words, "train.py"], cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("error[NO_PROGRAM]", done.stderr)

    def test_wrong_use_is_an_exception(self):
        with self.assertRaises(self.drydock.DryRunError) as caught:
            self.drydock.dry_run("absent.py", cwd=self.folder)
        self.assertEqual((caught.exception.status, caught.exception.code), (3, "NO_SCRIPT"))
        with self.assertRaises(self.drydock.DryRunError) as caught:
            self.drydock.dry_run("net.py", flags=["--nonsense"], cwd=self.folder)
        self.assertEqual((caught.exception.status, caught.exception.code), (2, "USAGE"))

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "no pandas")
    def test_tables_are_data_frames(self):
        self.write("net.py", command.network())
        frame = self.drydock.dry_run("net.py", cwd=self.folder).tensors()
        self.assertEqual(type(frame).__name__, "DataFrame")

    @unittest.skipUnless(importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel"), "no Jupyter kernel (nbclient, ipykernel)")
    def test_a_notebook_shows_the_page(self):
        self.write("net.py", command.network())
        self.write("run.py", "import nbformat, nbclient, sys\n"
                   "cell = nbformat.v4.new_code_cell('import drydock; drydock.dry_run(\"net.py\", html=True)')\n"
                   "book = nbformat.v4.new_notebook(cells=[cell])\n"
                   "nbclient.NotebookClient(book, kernel_name='python3').execute()\n"
                   "print(book.cells[0].outputs[0].data['text/html'][:21])\n")
        done = subprocess.run([sys.executable, "run.py"], cwd=self.folder, capture_output=True, text=True, timeout=command.SECONDS,
                              env=dict(os.environ, PYTHONPATH=str(PACKAGE)))
        self.assertEqual(done.stdout.strip(), '<iframe src="data:tex', done.stderr)


if __name__ == "__main__":
    unittest.main()
