"""Times of a pipeline, from the script to the trace: the parts sum, messages are flows, schemas hold."""

import csv
import json
import unittest

import command

try:
    import jsonschema
except ImportError:
    jsonschema = None

SHAPE = ["--layers=4", "--hidden=512", "--heads=8", "--sequence=128", "--vocabulary=1024", "--model_parallel=4"]
PIPELINE = ["--stages=2", "--micro_batches=8", "--recompute", "--shard_optimizer"]


class TimeLineTest(command.CommandTest):
    def time(self, folder, *flags, shape=PIPELINE):
        run = self.msrun("--worker_num=16", "--log_dir=" + folder, "--hardware=cpu-test", *flags,
                         command.EXAMPLES / "gpt/net.py", *SHAPE, *shape, level="3")
        self.assert_accepted(run)
        return run, self.report("timeline.json", folder)

    def test_a_pipeline(self):
        run, line = self.time("out")
        self.assertIn("time per step on cpu-test: ", run.out)
        self.assertIn("not modelled: ", run.out)
        step = line["step_seconds"]
        self.assertGreater(step, 0)
        # Two stages of 8 ranks; their three parts, and the parts of the longest chain, sum to the step.
        self.assertEqual([one["ranks"] for one in line["classes"]], ["0-7", "8-15"])
        for one in line["classes"]:
            self.assertAlmostEqual((one["busy_seconds"] + one["exposed_seconds"] + one["bubble_seconds"]) / step, 1, 6)
        chain = sum(one["seconds"] for one in line["critical_path"]) + line["path_left_out_seconds"]
        self.assertAlmostEqual(chain / step, 1, 6)
        # 8 micro batches of one sample for each of the 16 / 4 / 2 replicas.
        self.assertEqual((line["samples"], line["tokens"]), (16, 16 * 128))
        self.assertGreater(line["hardware_utilisation"], line["model_utilisation"])
        self.assertEqual(self.report("summary.json", "out")["time"]["step_seconds"], step)
        # 1F1B of two stages: at least 1 / (8 + 1) of the step is bubble.
        self.assertGreater(line["bubble_share"], 1 / 9 * 0.9)
        if jsonschema is not None:
            schema = json.loads((command.SOURCE / "docs/schema/timeline.schema.json").read_text(encoding="utf-8"))
            jsonschema.validate(line, schema)

    def test_the_trace_has_streams_and_messages(self):
        self.time("out")
        events = json.loads(self.folder.joinpath("out", "trace_view.json").read_text(encoding="utf-8"))["traceEvents"]
        names = {(one["pid"], one["args"]["name"]) for one in events if one["ph"] == "M"}
        self.assertIn((0, "stage 0, ranks 0-7"), names)
        self.assertIn((1, "computation"), names)
        sends = {one["id"]: one for one in events if one["ph"] == "s"}
        takes = {one["id"]: one for one in events if one["ph"] == "f"}
        # Activations of 8 micro batches forward, gradients back.
        self.assertGreaterEqual(len(sends), 16)
        self.assertEqual(set(sends), set(takes))
        for number, send in sends.items():
            self.assertNotEqual(send["pid"], takes[number]["pid"])
            self.assertEqual(send["ts"], takes[number]["ts"])
        self.assertTrue(all(one["dur"] >= 0 for one in events if one["ph"] == "X"))

    def test_memory_is_a_counter_beside_the_kernels(self):
        self.time("out", "--detail=full")
        events = json.loads(self.folder.joinpath("out", "trace_view.json").read_text(encoding="utf-8"))["traceEvents"]
        with open(self.folder / "out/kernels.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for process, item in enumerate(self.report("memory.json", "out")["classes"]):
            counters = [one for one in events if one["ph"] == "C" and one["pid"] == process]
            self.assertEqual(max(one["args"]["bytes"] for one in counters), item["used_peak_bytes"])
            known = {int(row["at_launch_bytes"]) for row in rows if row["ranks"] == item["ranks"]}
            self.assertLessEqual({one["args"]["bytes"] for one in counters}, known)
            times = [one["ts"] for one in counters]
            self.assertEqual(times, sorted(times))
        self.time("plain")  # Lifetimes are not kept: no counters.
        self.assertNotIn('"ph":"C"', self.folder.joinpath("plain", "trace_view.json").read_text(encoding="utf-8"))

    def test_same_input_same_bytes_and_chance_by_seed(self):
        _, once = self.time("a", "--threads=1")
        _, again = self.time("b", "--threads=2")
        self.assertEqual(once["step_seconds"], again["step_seconds"])
        _, late = self.time("c", "--jitter=1")
        _, late_again = self.time("d", "--jitter=1")
        _, other = self.time("e", "--jitter=2")
        self.assertGreater(late["step_seconds"], once["step_seconds"])
        self.assertEqual(late["step_seconds"], late_again["step_seconds"])
        self.assertNotEqual(late["step_seconds"], other["step_seconds"])

    def test_more_nodes_take_longer(self):
        """Groups of 4 ranks in nodes of 4, then in nodes of 2, whose links outside are ten times slower."""
        _, inside = self.time("a", shape=[])
        _, across = self.time("b", "--devices_per_node=2", shape=[])
        self.assertGreater(across["step_seconds"], inside["step_seconds"])


if __name__ == "__main__":
    unittest.main()
