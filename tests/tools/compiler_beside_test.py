"""The comparison with MindSpore's own compiler finds what differs, and what does not."""

import contextlib
import io
import random
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
import compiler  # noqa: E402
import random_networks  # noqa: E402


def network(shape=(4, 8), strategy=((2, 1),), group="hccl_world_group"):
    return {"layouts": {"w": [[2], [0, -1], list(shape), 0, True]}, "strategies": {"MatMul-op0": strategy},
            "operators": [["AllReduce", group], ["MatMul", ""]]}


def counts(theirs, ours):
    comparison = compiler.Comparison()
    comparison.add("test_x", theirs, ours)
    return comparison


class ComparisonTest(unittest.TestCase):
    def test_equal_networks_have_no_difference_whatever_the_world_group_is_called(self):
        comparison = counts(network(group="nccl_world_group"), network())
        self.assertEqual(comparison.differences, [])
        for what in ("layout", "strategy", "collectives"):
            self.assertEqual(comparison.counts[what, True], 1)

    def test_each_kind_of_difference_is_found_and_named(self):
        comparison = counts(network(), network(shape=(8, 8), strategy=((1, 1),), group="2-50"))
        self.assertEqual([line.split()[0] for line in comparison.differences], ["layout", "strategy", "collectives"])
        self.assertIn("test_x w: MindSpore [[2], [0, -1], [4, 8]], Drydock [[2], [0, -1], [8, 8]]",
                      comparison.differences[0])

    def test_open_extents_are_not_compared(self):
        comparison = counts(network(shape=(-1, 8)), network())
        self.assertEqual(comparison.counts["layout", True] + comparison.counts["layout", False], 0)

    def test_of_stages_the_kinds_of_operators_are_compared(self):
        # The wheel lists a product for each of two micro batches, of the one stage that it compiles.
        theirs, ours = network(), network(group="2-50")
        theirs["operators"].append(["Receive", ""])
        theirs["strategies"]["MatMul-op1"] = [[2, 1]]
        ours["strategies"] = {"MatMul-op7": [[2, 1]]}
        theirs["strategies"]["MatMul-op0"] = [[2, 1]]
        comparison = counts(theirs, ours)
        self.assertEqual(comparison.differences, [])
        self.assertEqual(comparison.counts["strategy", True], 1)
        self.assertEqual(comparison.counts["network of stages", True], 1)

    def test_table_counts_and_lists(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            counts(network(), network(shape=(8, 8))).print_table(show=0)
        self.assertIn("| layout | 0 | 1 |", text.getvalue())


class RandomNetworksTest(unittest.TestCase):
    def test_a_seed_gives_the_same_tests_again_and_another_one_others(self):
        text = random_networks.source(3, 5)
        self.assertEqual(text, random_networks.source(3, 5))
        self.assertNotEqual(text, random_networks.source(4, 5))
        self.assertEqual(text.count("def test_random_"), 5)
        compile(text, "random", "exec")

    def test_cuts_divide_the_extents_and_use_no_more_than_the_devices(self):
        writer = random_networks.Writer(random.Random(1))
        for _ in range(200):
            first, second = writer.cuts((16, 64))
            self.assertEqual((16 % first, 64 % second, 8 % (first * second)), (0, 0, 0))


class ShadowTest(unittest.TestCase):
    def test_only_the_front_end_is_copied_and_changed(self):
        with tempfile.TemporaryDirectory() as temporary:
            package, shadow = Path(temporary, "wheel"), Path(temporary, "shadow")
            (package / "lib").mkdir(parents=True)
            (package / "__init__.py").write_text("x = 1\n")
            (package / compiler.FRONT_END).write_bytes(b"a\0GPU\0b GPUs")
            compiler.make_shadow(package, shadow)
            self.assertTrue((shadow / "mindspore/__init__.py").is_symlink())
            self.assertEqual((shadow / "mindspore" / compiler.FRONT_END).read_bytes(), b"a\0CPU\0b GPUs")
            self.assertEqual((package / compiler.FRONT_END).read_bytes(), b"a\0GPU\0b GPUs")


if __name__ == "__main__":
    unittest.main()
