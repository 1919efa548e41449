"""A job that does not fit: what would is tried, and comes to the same as if the user had made the change."""

import unittest

import command

GPT = command.EXAMPLES / "gpt/net.py"
SMALL = ["--layers=8", "--hidden=256", "--heads=4", "--model_parallel=2", "--vocabulary=512", "--sequence=128"]


class FitTrialsTest(command.CommandTest):
    def play(self, folder, limit, *arguments, ranks=8, flags=()):
        run = self.msrun("--worker_num=%d" % ranks, "--device_memory=" + limit, "--log_dir", folder, *flags, GPT, *SMALL, *arguments)
        self.assert_accepted(run)
        return run

    def peak(self, folder):
        memory = self.report("memory.json", folder)
        return memory["classes"][memory["heaviest"]]["actual_peak_bytes"]

    def test_trials_equal_runs_with_the_change(self):
        # The pool grows in steps of 1 GiB on a device with room and takes what is left on one without, so all runs get the same device.
        for shape, limit in (([], "0.03GB"), (["--stages=2", "--micro_batches=2"], "0.02GB")):
            self.compare(shape, limit)

    def compare(self, shape, limit):
        run = self.play("out", limit, *shape)
        summary = self.report("summary.json", "out")
        self.assertEqual(summary["verdict"], "memory-exceeded")
        trials = {trial["change"]: trial for trial in summary["trials"]}
        expected = {"enable_parallel_optimizer=True": (["--shard_optimizer"], 8),
                    "recompute() of the 8 Blocks in 'layers'": (["--recompute"], 8), "16 ranks": ([], 16)}
        for change, (arguments, ranks) in expected.items():
            self.play("changed", limit, *shape, *arguments, ranks=ranks, flags=["--suggest=False"])
            self.assertEqual(trials[change]["peak_bytes"], self.peak("changed"), change)
            self.assertEqual(trials[change]["fits"], self.report("memory.json", "changed")["fits"], change)
            self.assertEqual(trials[change]["problem"], "")
            self.assertIn(change, " ".join(run.out.split()))
            self.assertEqual(self.report("summary.json", "changed")["trials"], [])

    def test_trials_of_a_graph_document_equal_those_of_its_script(self):
        self.play("out", "0.03GB", flags=["--export=graph"])
        self.assert_accepted(self.msrun("--device_memory=0.03GB", "--log_dir=again", "out/traced_graph.json"))
        script, document = ([(trial["peak_bytes"], trial["fits"], trial["problem"]) for trial in self.report("summary.json", folder)["trials"]]
                            for folder in ("out", "again"))
        self.assertEqual(len(script), 3)
        self.assertEqual(script, document)
        changes = [trial["change"] for trial in self.report("summary.json", "again")["trials"]]
        self.assertIn("recompute() of the 8 Blocks in 'Default/network-Gpt/layers-CellList'", changes)
        self.assertEqual(self.peak("out"), self.peak("again"))

    def test_a_graph_document_survives_the_run_that_reads_it(self):
        self.play("out", "4GB", flags=["--export=graph"])
        self.assert_accepted(self.msrun("--log_dir=out", "out/traced_graph.json"))
        self.assertEqual(self.msrun("--worker_num=3", "--log_dir=out", "out/traced_graph.json").status, 6)
        self.assert_accepted(self.msrun("--log_dir=out", "out/traced_graph.json"))

    def test_what_recomputes_already_is_not_suggested(self):
        self.play("out", "0.001GB", "--recompute", "--shard_optimizer")
        changes = [trial["change"] for trial in self.report("summary.json", "out")["trials"]]
        self.assertEqual(changes, ["16 ranks", "32 ranks"])

    def test_at_level_3_a_trial_has_its_time(self):
        self.play("out", "0.03GB", flags=["--sim_level=3"])
        trials = self.report("summary.json", "out")["trials"]
        seconds = {trial["change"]: trial["step_seconds"] for trial in trials}
        step = self.report("summary.json", "out")["time"]["step_seconds"]
        self.assertGreater(seconds["recompute() of the 8 Blocks in 'layers'"], step)

    def test_a_job_that_fits_is_run_once(self):
        self.play("out", "4GB")
        self.assertEqual(self.report("summary.json", "out")["trials"], [])

    def test_the_script_speaks_once(self):
        self.write("net.py", "print('hello from the script')\n" + command.network())
        run = self.msrun("--worker_num=8", "--device_memory=0.000001GB", "--log_dir=out", "net.py")
        self.assertEqual(self.report("summary.json", "out")["verdict"], "memory-exceeded")
        self.assertEqual(run.err.count("hello from the script"), 1)


if __name__ == "__main__":
    unittest.main()
