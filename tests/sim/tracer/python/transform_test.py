"""Slices of checkpoints between layouts, the ranks that hold the same parameters, and the fusion of gradients, as tools ask for them."""
import json
import os
import unittest

from helper import ROOT, TraceTest

STEP = """
import json, os
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor, context, restore_group_info_list
from mindspore.common.api import _cell_graph_executor as executor
from mindspore._drydock.session import session

session.compile_at_once = True

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = ops.MatMul().shard(((2, 1), (1, 4)))
        self.second = ops.MatMul().shard(((8, 1), (1, 1)))
        self.w = Parameter(Tensor(np.ones([16, 32]), ms.float32), "w")
        self.v = Parameter(Tensor(np.ones([32, 16]), ms.float32), "v")
    def construct(self, x):
        return self.second(self.first(x, self.w), self.v)

def compiled(**settings):
    context.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, global_rank=5, dataset_strategy="full_batch",
                                      **settings)
    net = Net()
    step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9)).set_train()
    executor.compile(step, Tensor(np.ones([8, 16]), ms.float32), phase="train")
    return step
"""

TRANSFORM = """
import json
import numpy as np
from mindspore.parallel import _tensor as t
whole = np.arange(8 * 8).reshape(8, 8)
"""


def recorded_cases(*kinds):
    folder = os.environ.get("DRYDOCK_VECTORS", os.path.join(ROOT, "tests", "vectors"))
    with open(os.path.join(folder, "layout.json")) as file:
        return [case for case in json.load(file)["cases"] if case["kind"] in kinds]


class TransformTest(TraceTest):
    def printed(self, source):
        """What the script prints as JSON in its last line."""
        return json.loads(self.trace(source).output.splitlines()[-1])

    def test_slices_become_those_of_another_layout(self):
        # 8 rows in 4 on ranks (4, 2) become 8 columns in 8: rank 5 has column 5, made of the slices of all rows.
        self.assertEqual(self.printed(TRANSFORM + """
before, after = ((4, 2), (1, -1), (8, 8)), ((8,), (-1, 0), (8, 8))
ranks = list(range(8))
slices = {rank: whole[rank // 2 * 2:rank // 2 * 2 + 2] for rank in ranks}
operators = t._get_needed_rank_transform_operator_map_by_layouts(before, after, ranks, 5)
t._apply_tensor_transform_operators(t._generate_transform_operator_stack(operators, 5), slices, 8)
print(json.dumps(slices[5].tolist()))
"""), [[8 * row + 5] for row in range(8)])

    def test_shards_of_an_optimizer_are_a_dimension_of_the_weight(self):
        # Map (1, -1) on (2, 4): axis 0 with its 4 devices is free. Two shards take half of it: matrix (2, 2, 2), map (2, 0, -1), rows 8 = 2 x 4.
        self.assertEqual(self.printed(TRANSFORM + """
print(json.dumps(t._construct_tensor_layout_for_opt_shard((2, 4), (1, -1), 1, 2, (8, 8))))
"""), [[2, 2, 2], [2, 0, -1], [2, 4, 8]])

    def test_layouts_and_ranks_of_mindspores_own_tests(self):
        cases = recorded_cases("align_device_num", "opt_shard_transform_layout", "transform_needed_ranks")
        self.assertTrue(cases)
        found = self.printed(TRANSFORM + "cases = json.loads(%r)" % json.dumps(cases) + """
def layout(one):
    return one["device_matrix"], one["tensor_map"], one["tensor_shape"]


def answer(kind, given):
    if kind == "opt_shard_transform_layout":
        names = ("device_matrix", "tensor_map", "tensor_shape")
        return dict(zip(names, t._construct_tensor_layout_for_opt_shard(
            *layout(given)[:2], given["opt_weight_shard_step"], given["opt_weight_shard_size"], given["tensor_shape"])))
    ends = [layout(dict({"tensor_shape": given.get("tensor_shape")}, **given[end])) for end in ("from", "to")]
    before, after = t._construct_from_to_tensor_layout(*(one[at] for one in ends for at in (2, 0, 1)))
    if kind == "align_device_num":
        return {"from_device_matrix": before[0], "to_device_matrix": after[0]}
    return {"ranks": t._get_needed_rank_list_by_layouts(before, after, range(math.prod(before[0])), given["rank"])}


import math
print(json.dumps([answer(case["kind"], case["inputs"]) for case in cases]))
""")
        for case, one in zip(cases, found):
            self.assertEqual(one, case["expected"], case["id"])

    def test_axes_with_names_of_mindspores_own_tests(self):
        cases = recorded_cases("layout_named_axes")
        found = self.printed("import json\ncases = json.loads(%r)" % json.dumps(cases) + """
from mindspore.parallel import Layout


def answer(device_matrix, alias_name, call):
    try:
        layout = Layout(tuple(device_matrix), tuple(alias_name))(*(tuple(one) if isinstance(one, list) else one for one in call))
    except ValueError:
        return None
    return layout.to_dict()["tensor_map"]


print(json.dumps([answer(**case["inputs"]) for case in cases]))
""")
        for case, one in zip(cases, found):
            self.assertEqual(one, case["expected"].get("tensor_map"), case["id"])
        # The last axis counts from the right as 0, the first of three as 2.
        self.assertIn([[2, 0], 1], found)

    def test_a_whole_tensor_from_the_slices_of_all_ranks(self):
        self.assertTrue(self.printed(TRANSFORM + """
import mindspore as ms
parts = [whole[row * 4:row * 4 + 4, column * 2:column * 2 + 2] for row in range(2) for column in range(4)]
joined = t._reshape_param_data(ms.Tensor(np.concatenate(parts), ms.int64), [2, 4], [1, 0])
print(json.dumps(bool(np.all(joined.asnumpy() == whole))))
"""))

    def test_ranks_with_the_same_parameters(self):
        # w is cut in 4 columns: rank 5 shares its slice with rank 1; v is whole everywhere. A sharded optimizer leaves rank 5 alone.
        self.assertEqual(self.printed(STEP + """
os.environ["GROUP_INFO_FILE"] = "groups.pb"
compiled()
plain = restore_group_info_list("groups.pb")
compiled(enable_parallel_optimizer=True, parallel_optimizer_config={"parallel_optimizer_threshold": 0})
print(json.dumps([plain, restore_group_info_list("groups.pb")]))
"""), [[1, 5], [5]])

    def test_gradients_of_one_fused_sum(self):
        self.assertEqual(self.printed(STEP + """
step = compiled(comm_fusion={"allreduce": {"mode": "auto", "config": None}})
print(json.dumps([executor._get_allreduce_fusion(step), context.get_auto_parallel_context("comm_fusion")]))
"""), [{"w": 1, "v": 1}, {"openstate": True, "allreduce": {"mode": "auto", "config": None},
                           "allgather": {"mode": "auto", "config": None}, "reducescatter": {"mode": "auto", "config": None}}])

    def test_a_folded_pipeline_is_told(self):
        run = self.trace(STEP + """
context.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, pipeline_stages=2, pipeline_segments=2)
print(json.dumps(context.job_settings()["pipeline_interleave"]))
""")
        self.assertEqual(run.output.splitlines()[-1], "true")


if __name__ == "__main__":
    unittest.main()
