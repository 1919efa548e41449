"""`drydock sweep`, `diff` and `whatif`: many jobs over several processes, and what changed between two runs."""

import json
import shutil
import subprocess
import unittest
from pathlib import Path

try:
    import jsonschema
except ImportError:
    jsonschema = None

import command

NET = str(command.EXAMPLES / "transformer/net.py")
SMALL = ("--layers=2", "--hidden=256", "--heads=8", "--ffn=512", "--vocabulary=512", "--sequence=64")
MODEL = {"model_type": "gpt2", "n_embd": 64, "n_layer": 4, "n_head": 4, "vocab_size": 100, "n_positions": 32}


def job(batch, **changes):
    return json.dumps({"model": MODEL, "sequence": 32, "batch": batch, "plan": "dp2 mb1", "hardware": "A100-80", **changes})


class SweepTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.write("jobs.jsonl", "".join(job(2 * (i + 1)) + "\n" for i in range(6)))

    def answers(self, part):
        return [json.loads(line) for line in (self.folder / "jobs.jsonl.out" / part).read_text().splitlines()]

    def test_parts_of_an_array_job_make_the_whole(self):
        for index in range(2):  # a Slurm array that begins at 1
            run = self.drydock("sweep", "jobs.jsonl", SLURM_ARRAY_TASK_ID=str(index + 1), SLURM_ARRAY_TASK_COUNT="2",
                               SLURM_ARRAY_TASK_MIN="1")
            self.assertEqual((run.status, run.out), (0, "3 answered, 0 of them with an error, 6 in all\n"), run.err)
        self.assertEqual([one["line"] for one in self.answers("part-0-of-2.jsonl")], [1, 3, 5])
        self.assertEqual([one["line"] for one in self.answers("part-1-of-2.jsonl")], [2, 4, 6])
        merged = self.drydock("sweep", "--merge", "jobs.jsonl")
        self.assertEqual(merged.status, 0, merged.err)
        found = [json.loads(line) for line in merged.out.splitlines()]
        self.assertEqual([one["line"] for one in found], [1, 2, 3, 4, 5, 6])
        # 12 L h^2 + 13 L h + V h + s h + 2 h
        self.assertEqual(found[0]["answer"]["parameters"], 12 * 4 * 64**2 + 13 * 4 * 64 + 100 * 64 + 32 * 64 + 2 * 64)

    def test_what_is_complete_is_skipped_and_what_changed_is_not(self):
        self.assertEqual(self.drydock("sweep", "--part=0/2", "jobs.jsonl").status, 0)
        again = self.drydock("sweep", "--part=0/2", "jobs.jsonl")
        self.assertEqual(again.out, "0 answered, 0 of them with an error, 6 in all\n")
        missing = self.drydock("sweep", "--merge", "jobs.jsonl")
        self.assertEqual(missing.status, 1)
        self.assertIn("3 of 6 jobs have no answer yet: lines 2 4 6", missing.err)
        part = self.folder / "jobs.jsonl.out" / "part-0-of-2.jsonl"
        part.write_text(part.read_text()[:-20])  # the process was killed while it wrote
        lines = (self.folder / "jobs.jsonl").read_text().splitlines()
        lines[0] = job(64)
        self.write("jobs.jsonl", "\n".join(lines) + "\n")
        rest = self.drydock("sweep", "--part=0/2", "jobs.jsonl")
        self.assertEqual(rest.out, "2 answered, 0 of them with an error, 6 in all\n")

    def test_other_array_jobs_and_wrong_parts(self):
        indexed = self.drydock("sweep", "--parts=3", "jobs.jsonl", JOB_COMPLETION_INDEX="2")
        self.assertEqual(indexed.out, "2 answered, 0 of them with an error, 6 in all\n")
        alone = self.drydock("sweep", "jobs.jsonl", JOB_COMPLETION_INDEX="2")
        self.assertEqual(alone.status, 2)
        self.assertIn("give --parts=N", alone.err)
        wrong = self.drydock("sweep", "--part=2/2", "jobs.jsonl")
        self.assertEqual(wrong.status, 2)

    def test_two_processes_of_open_mpi(self):
        if not shutil.which("mpirun"):
            self.skipTest("openmpi-bin is not installed")
        program = str(Path(command.MSRUN).with_name("drydock"))
        done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", program, "sweep", "jobs.jsonl"],
                              cwd=self.folder, capture_output=True, text=True, timeout=command.SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.drydock("sweep", "--merge", "jobs.jsonl").status, 0)

    def test_dry_runs_and_errors_stand_beside_estimates(self):
        script = {"args": ["--sim_level=1", "--worker_num=4", NET, *SMALL]}
        self.write("jobs.jsonl", json.dumps(script) + "\n" + job(3) + "\n")
        run = self.drydock("sweep", "jobs.jsonl")
        self.assertEqual(run.status, 1)
        dry, bad = self.answers("part-0-of-1.jsonl")
        self.assert_accepted(self.msrun("--worker_num=4", "--log_dir=out", NET, *SMALL))
        self.assertEqual(dry["answer"]["used_peak_bytes"], self.report("memory.json", "out")["classes"][0]["used_peak_bytes"])
        self.assertEqual(bad["error"], "3 samples cannot be divided by 2 samples at once")


class DiffTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.assert_accepted(self.msrun("--worker_num=4", "--log_dir=before", NET, *SMALL, "--tensor=2"))

    def test_equal_runs_and_what_grew(self):
        self.assert_accepted(self.msrun("--worker_num=4", "--log_dir=after", NET, *SMALL, "--tensor=2", "--micro_batch=2"))
        same = self.drydock("diff", "--fail_on_regression", "before", "before")
        self.assertEqual(same.status, 0, same.err)
        worse = self.drydock("diff", "--fail_on_regression", "--json", "before", "after")
        self.assertEqual(worse.status, 1)
        found = {one["name"]: one for one in json.loads(worse.out)["memory"]}
        for name, folder in (("before", "before"), ("after", "after")):
            self.assertEqual(found["stage 0 peak"][name], self.report("memory.json", folder)["classes"][0]["used_peak_bytes"])
        better = self.drydock("diff", "--fail_on_regression", "after", "before")
        self.assertEqual(better.status, 0)
        self.assertIn("stage 0 peak", better.out)

    def test_whatif_is_the_run_with_something_changed(self):
        self.assert_accepted(self.msrun("--worker_num=4", "--log_dir=after", NET, *SMALL, "--tensor=2", "--micro_batch=2"))
        run = self.drydock("whatif", "--set", "micro_batch=2", "--json", "before")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(json.loads(run.out), json.loads(self.drydock("diff", "--json", "before", "after").out))
        if jsonschema is not None:
            jsonschema.validate(json.loads(run.out), json.loads((command.SOURCE / "docs/schema/diff.schema.json").read_text(encoding="utf-8")))
        ranks = self.drydock("whatif", "--set=worker_num=8", "--log_dir=eight", "before")
        self.assertEqual(ranks.status, 0, ranks.err)
        self.assertEqual(self.report("memory.json", "eight")["world_size"], 8)

    def test_bad_input(self):
        none = self.drydock("diff", "before", "nowhere")
        self.assertEqual(none.status, 3)
        self.assertIn("no report in 'nowhere'", none.err)
        (self.folder / "broken").mkdir()
        self.write("broken/memory.json", "{")
        broken = self.drydock("diff", "before", "broken")
        self.assertEqual(broken.status, 6)
        self.assertIn("broken/memory.json", broken.err)
        self.assertEqual(self.drydock("whatif", "before").status, 2)
        self.assertEqual(self.drydock("whatif", "--set=micro_batch", "before").status, 2)


if __name__ == "__main__":
    unittest.main()
