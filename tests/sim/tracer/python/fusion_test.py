"""What comm_fusion and its relatives leave in the job, and what is said where they contradict each other."""
import unittest

from helper import TraceTest

STEP = """
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
from mindspore.communication import init

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = nn.Dense(8, 8)
        self.b = nn.Dense(8, 8)
    def construct(self, x):
        return ops.ReduceMean()(self.b(self.a(x)))

init()
net = Net()
"""
TRAIN = "nn.TrainOneStepCell(net, nn.SGD(net.trainable_params()))(Tensor(np.ones((8, 8), np.float32)))\n"


def settings(mode, text):
    return STEP + "ms.set_auto_parallel_context(parallel_mode='%s', %s)\n" % (mode, text) + TRAIN


class Fusion(TraceTest):
    def fusion(self, source):
        run = self.trace(source)
        return run.documents[0]["job"].get("comm_fusion"), " ".join(run.warnings)

    def test_nothing_is_asked_for_by_default(self):
        self.assertEqual(self.fusion(settings("semi_auto_parallel", "gradients_mean=True")), (None, ""))

    def test_keys_act_in_the_order_of_the_dictionary(self):
        # Recorded: the first fuses everything, the second nothing.
        on, warned = self.fusion(settings(
            "semi_auto_parallel", "comm_fusion={'openstate': False, 'allreduce': {'mode': 'auto', 'config': None}}"))
        self.assertTrue(on["all_reduce"])
        self.assertIn("net.py:17", warned)
        self.assertIn("switches its fusion on again", warned)
        off, warned = self.fusion(settings(
            "semi_auto_parallel", "comm_fusion={'allreduce': {'mode': 'auto', 'config': None}, 'openstate': False}"))
        self.assertFalse((off or {"all_reduce": False})["all_reduce"])
        self.assertIn("switches its fusion off", warned)

    def test_sizes_count_in_both_modes(self):
        found, _ = self.fusion(settings(
            "data_parallel", "comm_fusion={'allreduce': {'mode': 'size', 'config': 2}, "
            "'allgather': {'mode': 'size', 'config': 16}, 'reducescatter': {'mode': 'auto', 'config': None}}"))
        self.assertEqual(found, {"all_reduce": True, "all_gather": True, "reduce_scatter": True, "all_reduce_mb": 2,
                                 "all_gather_mb": 16, "reduce_scatter_mb": 64, "data_parallel_mb": 2,
                                 "split_indices": []})

    def test_indices_switch_fusion_on(self):
        found, _ = self.fusion(settings("semi_auto_parallel", "all_reduce_fusion_config=[1, 3]"))
        self.assertEqual((found["all_reduce"], found["split_indices"]), (True, [1, 3]))
        found, _ = self.fusion(settings(
            "semi_auto_parallel", "comm_fusion={'allreduce': {'mode': 'index', 'config': [0, 2]}}"))
        self.assertEqual((found["all_reduce"], found["split_indices"]), (True, [0, 2]))

    def test_two_splits_are_named(self):
        _, warned = self.fusion(settings(
            "semi_auto_parallel",
            "comm_fusion={'allreduce': {'mode': 'index', 'config': [0]}}, all_reduce_fusion_config=[1]"))
        self.assertIn("takes the place of [0]", warned)

    def test_a_split_and_a_size_are_named(self):
        split = "comm_fusion={'allreduce': {'mode': 'index', 'config': [1, 2]}}"
        size = "comm_fusion={'allreduce': {'mode': 'size', 'config': 32}}"
        for first, second in ((split, size), (size, split)):
            text = first + ")\nms.set_auto_parallel_context(" + second
            _, warned = self.fusion(settings("semi_auto_parallel", text))
            self.assertEqual(warned.count("by the split [1, 2], and by size"), 1, warned)
            self.assertIn("net.py:17", warned)
            self.assertIn("net.py:18", warned)

    def test_a_threshold_of_zero_is_refused_where_operators_are_cut(self):
        text = "comm_fusion={'allreduce': {'mode': 'size', 'config': 0}}"
        error = self.error(settings("semi_auto_parallel", text))
        self.assertEqual(error["reason"], "comm_fusion:threshold")
        self.assertIn("net.py:17", error["message"])
        _, warned = self.fusion(settings("data_parallel", text))
        self.assertIn("switches fusion off", warned)

    def test_numbers_of_parameters_go_for_nothing_where_operators_are_cut(self):
        auto = "comm_fusion={'allreduce': {'mode': 'auto', 'config': None}}"
        number = "net.a.weight.comm_fusion = 3\n"
        _, warned = self.fusion(STEP + number + settings("semi_auto_parallel", auto)[len(STEP):])
        self.assertIn("comm_fusion of parameter 'a.weight' (3) goes for nothing", warned)
        _, warned = self.fusion(STEP + number + settings("data_parallel", auto)[len(STEP):])
        self.assertEqual(warned, "")


class Reducer(TraceTest):
    """Attributes of the sums in data_parallel. Source: nn/wrap/grad_reducer.py of the reference."""

    def sums(self, text, before=""):
        run = self.trace(STEP + before + settings("data_parallel", text)[len(STEP):])
        return [(node["attrs"]["fusion"], node["attrs"].get("index"))
                for node in run.documents[0]["nodes"] if node["op"] == "AllReduce"]

    def test_all_gradients_share_an_id(self):
        self.assertEqual(self.sums("gradients_mean=True"), [(1, None)] * 4)

    def test_a_split_gives_each_part_an_id(self):
        self.assertEqual(self.sums("all_reduce_fusion_config=[1, 2]"),
                         [(1024, 1), (1024, 2), (1025, 3), (1026, 4)])

    def test_numbers_of_parameters_that_differ_count(self):
        self.assertEqual(self.sums("gradients_mean=True", "net.b.set_comm_fusion(2)\n"),
                         [(1, 1), (1, 2), (2, 3), (2, 4)])
        self.assertEqual(self.sums("gradients_mean=True", "net.set_comm_fusion(2)\n"), [(1, None)] * 4)


class ShardedOptimizer(TraceTest):
    """Settings of a sharded optimizer. In data_parallel mode (recorded: zero_dp.py) each rank sums other gradients in the
    group of all ranks, which would hang."""

    def sharding(self, source):
        run = self.trace(source)
        return run.documents[0]["job"].get("optimizer_sharding"), " ".join(run.warnings)

    def test_the_dictionary_and_the_setting_of_the_context(self):
        on = "enable_parallel_optimizer=True"
        for text, wanted in (
                (on + ", parallel_optimizer_config={'parallel_optimizer_threshold': 0, 'optimizer_level': 'level3'}", (-1, 0, 3)),
                (on + ", parallel_optimizer_config={'gradient_accumulation_shard': True}", (-1, 64, 2)),
                (on + ", optimizer_weight_shard_size=4", (4, 64, 1)),
                (on + ", parallel_optimizer_config={'optimizer_weight_shard_size': 2}", (2, 64, 1))):
            self.assertEqual(self.sharding(settings("semi_auto_parallel", text)),
                             (dict(zip(("shard_size", "threshold_kb", "level"), wanted)), ""), text)

    def test_defaults_are_not_written(self):
        self.assertEqual(self.sharding(settings("semi_auto_parallel", "enable_parallel_optimizer=True")), (None, ""))

    def test_hsdp(self):
        source = STEP + """
from mindspore.parallel.auto_parallel import AutoParallel
step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params()))
parallel = AutoParallel(step, parallel_mode="semi_auto")
parallel.hsdp(shard_size=2, threshold=1, optimizer_level="level2")
parallel(Tensor(np.ones((8, 8), np.float32)))
"""
        self.assertEqual(self.sharding(source)[0], {"shard_size": 2, "threshold_kb": 1, "level": 2})

    def test_levels_two_and_three_accumulate_in_shared_graphs(self):
        # Recorded: zero2_accu_error.py is refused, zero2_accu.py with lazy_inline is not.
        source = """
from mindspore.parallel.auto_parallel import AutoParallel
from mindspore.parallel.nn import GradAccumulation
parallel = AutoParallel(nn.TrainOneStepCell(GradAccumulation(net, 2), nn.SGD(net.trainable_params())), parallel_mode="semi_auto")
parallel.dataset_strategy("full_batch")
parallel.hsdp(threshold=0, optimizer_level="%s")
parallel(Tensor(np.ones((8, 8), np.float32)))
"""
        for level in ("level2", "level3"):
            error = self.error(STEP + source % level)
            self.assertEqual(error["reason"], "GradAccumulation:lazy-inline")
        self.trace(STEP + source % "level1")
        self.trace(STEP.replace("    def __init__", "    @ms.lazy_inline\n    def __init__", 1) + source % "level2")
        later = "import mindspore as ms\ndef later(function):\n    return lambda *given: ms.lazy_inline(function)(*given)\n"
        self.trace(later + STEP.replace("    def __init__", "    @later\n    def __init__", 1) + source % "level2")

    def test_a_configuration_that_nothing_reads_is_told(self):
        asked, warned = self.sharding(settings("semi_auto_parallel",
                                               "parallel_optimizer_config={'parallel_optimizer_threshold': 0}"))
        self.assertIsNone(asked)
        self.assertIn("parallel_optimizer_config goes for nothing without enable_parallel_optimizer", warned)

    def test_both_lines_are_named_in_data_parallel(self):
        error = self.error(settings("data_parallel", "enable_parallel_optimizer=True"))
        self.assertEqual(error["reason"], "Optimizer:ranks-disagree")
        self.assertIn("net.py:17", error["message"])  # the setting
        self.assertIn("net.py:18", error["message"])  # the step

    def test_other_modes_refuse_it_and_one_rank_does_not_care(self):
        text = settings("stand_alone", "enable_parallel_optimizer=True")
        self.assertEqual(self.error(text)["reason"], "Optimizer:sharded-mode")
        self.trace(settings("data_parallel", "enable_parallel_optimizer=True"), ranks=1)


if __name__ == "__main__":
    unittest.main()
