"""`drydock plan`: the closed forms, the full runs of its best plans, and what it says of bad input."""

import json
import unittest

import command

LLAMA = {"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4,
         "intermediate_size": 1024, "vocab_size": 1024, "_name_or_path": "small"}


class PlanTest(command.CommandTest):
    def model(self, **changes):
        self.write("config.json", json.dumps({**LLAMA, **changes}))
        return "config.json"

    def plan(self, *words):
        return self.drydock("plan", "--devices=8", "--batch=16", "--sequence=128", *words)

    def test_script_of_full_runs_is_the_hand_written_gpt(self):
        # Same layers, same cuts, written by two hands: docs/examples/gpt and docs/examples/transformer.
        sizes = ("--layers=4", "--hidden=256", "--heads=8", "--vocabulary=512", "--sequence=64", "--stages=2", "--micro_batches=4")
        gpt = self.msrun("--worker_num=16", "--log_dir=gpt", str(command.EXAMPLES / "gpt/net.py"), *sizes, "--model_parallel=4",
                         "--recompute", "--shard_optimizer")
        ours = self.msrun("--worker_num=16", "--log_dir=ours", str(command.EXAMPLES / "transformer/net.py"), *sizes, "--ffn=1024",
                          "--tensor=4", "--recompute=full", "--optimizer_level=1", "--attention=plain", "--parameter_type=float16",
                          "--norm_bias", "--query_bias", "--output_bias", "--mlp_bias", "--vocab_emb_dp", "--optimizer=adam")
        self.assert_accepted(gpt)
        self.assert_accepted(ours)
        for key in ("used_peak_bytes", "actual_peak_bytes", "breakdown"):
            self.assertEqual([one[key] for one in self.report("memory.json", "ours")["classes"]],
                             [one[key] for one in self.report("memory.json", "gpt")["classes"]])
        for key in ("total", "by_kind", "by_phase"):
            self.assertEqual(self.report("communication.json", "ours")[key], self.report("communication.json", "gpt")[key])

    def test_best_plans_are_compiled_for_all_ranks(self):
        run = self.plan("--json", "--top=2", "--fix=cp1 tp2 vpp1", self.model())
        self.assertEqual(run.status, 0, run.err)
        report = json.loads(run.out)
        self.assertEqual(report["schema"], "drydock.plan/1")
        # 4 layers of 512 (512 + 256 + 256 + 512 + 3 * 1024) + 1024, tables of 1024 x 512, one norm.
        self.assertEqual(report["parameters"], 4 * (512 * (512 + 256 + 256 + 512 + 3 * 1024) + 1024) + 2 * 1024 * 512 + 512)
        self.assertEqual(len(report["best"]), 2)
        for one in report["best"]:
            self.assertGreater(one["full_run"].get("peak_bytes", 0), 0, one)
            self.assertIn("model_parallel: 2", one["mindformers"])
            self.assertIn("--tensor-model-parallel-size 2", one["megatron"])
            self.assertTrue(one["full_run"]["fits"])
        times = [one["full_run"]["step_seconds"] for one in report["best"]]
        self.assertEqual(times, sorted(times))

    def test_threads_decide_nothing(self):
        one = self.plan("--json", "--closed_form", "--threads=1", self.model())
        four = self.plan("--json", "--closed_form", "--threads=4", self.model())
        self.assertEqual(one.status, 0, one.err)
        self.assertEqual(one.out, four.out)

    def test_explain_names_what_limits(self):
        run = self.plan("--explain=dp1 tp1 pp4 cp2 mb1", self.model())
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("limit: ", run.out)
        bad = self.plan("--explain=dp1 tp8 mb3", self.model())
        self.assertEqual(bad.status, 6)
        self.assertIn("16 samples cannot be divided by 3 samples at once", bad.err)

    def test_bad_input_is_refused_with_a_remedy(self):
        unknown = self.plan(self.model(model_type="lama"))
        self.assertEqual(unknown.status, 8)
        self.assertIn("config.json:1:", unknown.err)
        self.assertIn("did you mean 'llama'?", unknown.err)
        heads = self.plan(self.model(num_attention_heads=7))
        self.assertEqual(heads.status, 6)
        self.assertIn("not divisible by 7 attention heads", heads.err)
        none = self.plan("--closed_form", "--fix=tp3", self.model())
        self.assertEqual(none.status, 6)
        self.assertIn("no plan is possible", none.err)
        full = self.drydock("plan", "--devices=8", "--batch=16", "--sequence=128", "--closed_form", "--memory=1",
                            self.model(hidden_size=16384, intermediate_size=65536, num_hidden_layers=64))
        self.assertEqual(full.status, 7)
        self.assertIn("needs least", full.err)
        missing = self.drydock("plan", self.model())
        self.assertEqual(missing.status, 2)
        self.assertIn("--devices and --batch are needed", missing.err)
        hardware = self.plan("--hardware=910D", self.model())
        self.assertEqual(hardware.status, 2)
        self.assertIn("did you mean '910", hardware.err)


if __name__ == "__main__":
    unittest.main()
