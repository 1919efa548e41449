"""`drydock from-torch`: a Llama block of PyTorch, cut over 8 ranks by a tensor-parallel plan."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import command

PROGRAM = Path(command.MSRUN).parent / "drydock"
BLOCK = command.EXAMPLES / "torch/block.py"
B, S, H, F, RANKS = 4, 128, 512, 1376, 8  # as in the example


class FromTorchTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        if not importlib.util.find_spec("torch"):
            self.skipTest("%s has no torch" % sys.executable)

    def convert(self, path, *flags):
        line = [str(PROGRAM), "from-torch", "--python=" + sys.executable, "--output=block.json", *flags, str(path)]
        return subprocess.run(line, cwd=self.folder, env=command.environment(self.temporary), stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=command.SECONDS, check=False)

    def changed(self, old, new):
        text = BLOCK.read_text()
        self.assertIn(old, text)
        path = Path(self.folder) / "model.py"
        path.write_text(text.replace(old, new))
        return path

    def report(self, name):
        return json.loads((Path(self.folder) / "out" / name).read_text())

    def test_a_block_has_the_slices_and_sums_of_its_plan(self):
        run = self.convert(BLOCK)
        self.assertEqual(run.returncode, 0, run.stderr)
        checked = subprocess.run([command.MSRUN, "--sim_level=1", "--worker_num=8", "--log_dir=out", "block.json"], cwd=self.folder,
                                 env=command.environment(self.temporary), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 timeout=command.SECONDS, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        # Four H x H and three H x F matrices, an eighth of each on a rank, and two whole norms of H.
        self.assertEqual(self.report("memory.json")["classes"][0]["parameter_count"], (4 * H * H + 3 * H * F) // RANKS + 2 * H)
        # wo and w2 leave partial sums of the whole activation; backwards there are as many, and the gradients of the norms.
        sums = [item["payload_bytes"] for item in self.report("communication.json")["collectives"]]
        self.assertEqual(sorted(sums), [4 * H] * 2 + [4 * B * S * H] * 4)

    def test_data_parallel_ranks_share_the_batch(self):
        run = self.convert(BLOCK, "--worker_num=16", "--tensor_parallel=4")
        self.assertEqual(run.returncode, 0, run.stderr)
        document = json.loads((Path(self.folder) / "block.json").read_text())
        self.assertEqual(document["job"]["dataset_strategy"], [[4, 1, 1]])
        cuts = [node["strategy"] for node in document["nodes"] if "strategy" in node]
        self.assertEqual(cuts, [[[4, 1], [4, 1]]] * 3 + [[[4, 4], [1, 4]]] + [[[4, 1], [4, 1]]] * 2 + [[[4, 4], [1, 4]]])

    def test_what_does_not_fit_is_said(self):
        for old, new, flags, status, word in (
                ('"wq": "colwise"', '"query": "colwise"', (), 6, "no module is called so"),
                ('"wq": "colwise"', '"wq": "sequence"', (), 8, "known are"),
                ("def drydock_model", "def my_model", (), 6, "tells no model"),
                ("nn.functional.silu", "torch.erfinv", (), 8, "aten.erfinv"),
                ("B, S", "B, S", ("--tensor_parallel=3",), 6, "does not divide")):
            run = self.convert(self.changed(old, new), *flags)
            self.assertEqual((run.returncode, word in run.stderr), (status, True), run.stderr)
            self.assertFalse((Path(self.folder) / "block.json").exists())


if __name__ == "__main__":
    command.unittest.main()
