"""The large example, 96 * 12 h^2 + 2 v h = 175 billion parameters on 1,024 ranks, and a small one of the same make."""

import unittest

import command

NET = command.EXAMPLES / "gpt/net.py"


def aligned(elements, bytes_each=2):
    """Bytes of one tensor in the device pool: the size plus 32, up to the next multiple of 512."""
    return (elements * bytes_each + 32 + 511) // 512 * 512


class GptTest(command.CommandTest):
    def memory_of(self, *arguments, ranks):
        self.assert_accepted(self.msrun(f"--worker_num={ranks}", "--log_dir=out", str(NET), *arguments))
        return self.report("memory.json", "out")["classes"][0]

    def parts(self, memory):
        return {part["part"]: part["bytes"] for part in memory["breakdown"]}

    def expected_parameters(self, layers, hidden, vocabulary, sequence, cut):
        """Every rank holds whole norms, positions and token table, and 1/cut of the other matrices."""
        share = hidden // cut
        # Query, key, value: columns cut; output: rows cut, bias whole; the same for up and down, four times as wide.
        attention = 3 * (aligned(hidden * share) + aligned(share)) + aligned(hidden * share) + aligned(hidden)
        forward = 2 * aligned(4 * hidden * share) + aligned(4 * share) + aligned(hidden)
        layer = attention + forward + 4 * aligned(hidden)
        ends = (aligned(vocabulary * hidden) + aligned(vocabulary // cut * hidden) + aligned(sequence * hidden)
                + aligned(sequence * sequence) + 2 * aligned(hidden))
        # One number each: learning rate, powers of beta1 and beta2, and global_step, which every step adds 1 to (AssignAdd).
        adam = 4 * aligned(1, 4)
        return layers * layer + ends + adam

    def test_small_model_on_8_ranks(self):
        memory = self.memory_of("--layers=2", "--hidden=256", "--heads=8", "--vocabulary=512", "--sequence=64",
                                "--model_parallel=4", ranks=8)
        self.assertEqual(self.parts(memory)["parameters"],
                         self.expected_parameters(layers=2, hidden=256, vocabulary=512, sequence=64, cut=4))

    def test_all_layers_on_1024_ranks(self):
        run = self.msrun("--worker_num=1024", "--log_dir=out", str(NET))
        self.assertEqual(run.status, 0, run.err)
        memory = self.report("memory.json", "out")["classes"][0]
        self.assertEqual(memory["rank_count"], 1024)
        self.assertEqual(self.parts(memory)["parameters"],
                         self.expected_parameters(layers=96, hidden=12288, vocabulary=50304, sequence=2048, cut=32))

    def test_16_stages_with_sharded_optimizer(self):
        run = self.msrun("--worker_num=1024", "--log_dir=out", str(NET), "--model_parallel=8", "--stages=16", "--micro_batches=64",
                         "--recompute", "--shard_optimizer")
        self.assertEqual(run.status, 0, run.err)
        classes = self.report("memory.json", "out")["classes"]
        self.assertEqual([one["rank_count"] for one in classes], [64] * 16)
        # A stage in the middle: 6 layers, matrices cut 8 times by model parallelism and their rows 8 times over the replicas, as
        # is the wide bias. The others have less than 64 KiB as a whole and stay. The mask and four numbers of Adam are everywhere.
        hidden, share = 12288, 12288 // 8
        matrices = 4 * aligned(hidden * share // 8) + 2 * aligned(4 * hidden * share // 8)
        vectors = 3 * aligned(share) + 6 * aligned(hidden) + aligned(4 * share // 8)
        parameters = 6 * (matrices + vectors) + aligned(2048 * 2048) + 4 * aligned(1, 4)
        middle = [one for one in classes if 0 < one["stage"] < 15]
        self.assertEqual({self.parts(one)["parameters"] for one in middle}, {parameters})


if __name__ == "__main__":
    unittest.main()
