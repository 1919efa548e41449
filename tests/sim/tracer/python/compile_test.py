"""Scripts that compile in the process that records them: layouts, strategies, listings, errors."""
import unittest

from helper import TraceTest

HEAD = """
import json
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor, context
from mindspore.common.api import _cell_graph_executor as executor
from mindspore import _drydock

class Net(nn.Cell):
    def __init__(self, first=((2, 4), (4, 1)), second=((8, 1),)):
        super().__init__()
        self.matmul = ops.MatMul().shard(first)
        self.relu = ops.ReLU().shard(second)
        self.w = Parameter(Tensor(shape=(64, 32), dtype=ms.float32), "weight")
    def construct(self, x):
        return self.relu(self.matmul(x, self.w))

context.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, global_rank=5,
                                  dataset_strategy="full_batch")
x = Tensor(shape=(32, 64), dtype=ms.float32)
"""


class InProcess(TraceTest):
    def printed(self, source):
        """What the script prints as JSON in its last line."""
        import json
        run = self.trace(HEAD + source)
        return json.loads(run.output.splitlines()[-1])

    def test_an_input_among_several_results_is_a_result_of_the_network(self):
        # MindSpore's step_parallel_utils.cc puts a node behind each member of a tuple, and none behind an input that is returned alone.
        self.assertEqual(self.printed("""
class Two(Net):
    def construct(self, x):
        return super().construct(x), x
def outputs(net):
    executor.compile(net, x)
    return sum("_VirtualOutput" in name for name in executor._get_shard_strategy(net))
print(json.dumps([outputs(Net()), outputs(Two())]))
"""), [1, 2])

    def test_slices_of_parameters_follow_the_strategy(self):
        # 64 rows cut into 4, 32 columns not cut: 16 x 32. Rows lie on the second axis of (2, 4).
        layout = self.printed("""
net = Net()
executor.compile(net, x)
print(json.dumps(net.parameter_layout_dict["weight"]))
""")
        self.assertEqual(layout[:3], [[2, 4], [0, -1], [16, 32]])
        self.assertEqual(layout[6], [64, 32])

    def test_strategies_are_found_under_the_phase_of_the_cell(self):
        strategies = self.printed("""
net = Net()
executor.compile(net, x, phase="train")
print(json.dumps(executor._get_shard_strategy(net)))
""")
        self.assertEqual(strategies["Default/MatMul-op0"], [[2, 4], [4, 1]])
        self.assertEqual(strategies["Default/ReLU-op0"], [[8, 1]])

    def test_listing_shows_the_sum_and_the_slice_of_the_rank(self):
        # Partial products are summed; ReLU wants 32 / 8 = 4 rows. Rank 5 holds rows 16..32 of the product
        # (first axis of (2, 4) is 5 div 4 = 1) and takes the second quarter of those 16: rows 4 to 8.
        nodes = self.printed("""
net = Net()
phase, _ = executor.compile(net, x)
print(json.dumps(executor._graph_executor.get_parallel_graph_info(phase)["@graph_0"]))
""")
        self.assertEqual(nodes["AllReduce-0"]["inputs"], ["MatMul-0"])
        self.assertEqual(nodes["AllReduce-0"]["attrs"]["group_ranks"], "4-5-6-7")
        self.assertEqual(nodes["MatMul-0"]["inputs"][1:], ["Load-0", False, False])
        self.assertEqual(nodes["Load-0"]["inputs"], ["weight"])
        self.assertEqual(nodes[nodes["ReLU-0"]["inputs"][0]]["inputs"][0], "AllReduce-0")
        self.assertEqual(nodes[nodes["ReLU-0"]["inputs"][0]]["inputs"][1:3], ["(4, 0)", "(8, 32)"])
        self.assertEqual(nodes["TupleGetItem-0"]["inputs"], ["MakeTuple-0", 0])

    def test_listing_of_open_extents_splits(self):
        # 4 rows in 2 and 8 columns in 4: rank 5 is in the second half of the rows (5 div 4) and has the second quarter of the
        # columns (5 mod 4). Where an extent is open the parts are taken of a Split; a target shape has -1 for it; float16 is number 42.
        nodes = self.printed("""
class Open(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = ops.ReLU().shard(((2, 1, 4),))
        self.c = Tensor([[1.0] * 8] * 8, ms.float32)
        self.mul = ops.Mul().shard(((2, 4), (2, 4)))
    def construct(self, x):
        y = ops.cast(self.relu(x), ms.float16)
        return ops.reshape(y, (x.shape[0], x.shape[1] * x.shape[2])), self.mul(self.c, self.c)
net = Open()
rows = Tensor(shape=[4, None, 8], dtype=ms.float32)
net.set_inputs(rows)
phase, _ = executor.compile(net, rows)
print(json.dumps(executor._graph_executor.get_parallel_graph_info(phase)["@graph_0"]))
""")
        self.assertEqual([nodes[name]["inputs"] for name in ("Split-0", "TupleGetItem-1", "Split-1", "TupleGetItem-2")],
                         [["TupleGetItem-0", 0, 2], ["Split-0", 1], ["TupleGetItem-1", 2, 4], ["Split-1", 1]])
        self.assertEqual(nodes["Cast-0"]["inputs"], ["ReLU-0", 42])
        self.assertTrue(any("-1" in str(node["inputs"][-1]) for name, node in nodes.items() if name.startswith("Reshape")))
        self.assertEqual(nodes["Mul-0"]["inputs"], ["_GetTensorSlice-0", "_GetTensorSlice-1"])

    def test_layouts_that_the_original_refuses(self):
        # The layout of an element-wise result follows from its operands, even where the right one is given; operands with open
        # extents have one axis a dimension; how parameters are cut is asked where something is.
        given = """
from mindspore.parallel import Layout
layout = Layout((2, 2, 2), ("a", "b", "c"))
class Cut(nn.Cell):
    def __init__(self, op):
        super().__init__()
        self.op = op
    def construct(self, x):
        return self.op(x)
"""
        for source, words in (
                ('executor.compile(Cut(ops.GeLU().shard((layout("a", "b"),), (layout("a", "b"),))), x)\n', "cannot be given"),
                ('net = Cut(ops.GeLU().shard((layout(("a", "b"), "c"),)))\nrows = Tensor(shape=[16, None], dtype=ms.float32)\n'
                 'net.set_inputs(rows)\nexecutor.compile(net, rows)\n', "cuts a dimension by several axes"),
                ('ms.reset_auto_parallel_context()\nms.Model(Cut(ops.GeLU())).infer_predict_layout(x)\n', "semi_auto_parallel")):
            error = self.error(HEAD + given + source)
            self.assertEqual(error["family"], "user", source)
            self.assertIn(words, error["message"])

    def test_layout_of_a_weight_with_a_sharded_optimizer_names_its_group(self):
        # 64 rows in 4 on the inner axis of (2, 4); ranks 1 and 5 have the same rows and share the optimizer's state.
        layout = self.printed("""
ms.set_auto_parallel_context(enable_parallel_optimizer=True, parallel_optimizer_config={"parallel_optimizer_threshold": 0})
net = Net()
executor.compile(net, x)
print(json.dumps(net.parameter_layout_dict["weight"]))
""")
        self.assertEqual(layout[:5], [[2, 4], [0, -1], [16, 32], 0, True])
        self.assertTrue(layout[5].startswith("2-"), layout)

    def test_listing_belongs_to_the_rank_of_the_compile(self):
        # As above; resetting the context afterwards does not turn rank 5 into rank 0.
        nodes = self.printed("""
net = Net()
phase, _ = executor.compile(net, x)
context.reset_auto_parallel_context()
print(json.dumps(executor._graph_executor.get_parallel_graph_info(phase)["@graph_0"]))
""")
        self.assertEqual(nodes[nodes["ReLU-0"]["inputs"][0]]["inputs"][1:3], ["(4, 0)", "(8, 32)"])

    def test_vectors_of_exchanges_have_blanks_behind_their_commas(self):
        # Rows on 2 ranks, 3 x 3 kernel, padding 1: rank 5 of (2 columns' repeats, 2 rows) is listed with what it sends.
        nodes = self.printed("""
class Conv(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = ops.Conv2D(8, 3, pad_mode="pad", pad=1).shard(((1, 1, 2, 1), (1, 1, 1, 1)))
        self.w = Parameter(Tensor(shape=(8, 4, 3, 3), dtype=ms.float32), "w")
    def construct(self, x):
        return self.conv(x, self.w)
phase, _ = executor.compile(Conv(), Tensor(shape=(2, 4, 8, 8), dtype=ms.float32))
print(json.dumps(executor._graph_executor.get_parallel_graph_info(phase)["@graph_0"]))
""")
        exchange = nodes["NeighborExchangeV2-0"]["attrs"]
        self.assertIn(exchange["send_lens"], ("[0, 1, 0, 0]", "[1, 0, 0, 0]"))
        self.assertEqual(exchange["send_lens"], exchange["recv_lens"])

    def test_strategy_may_have_entries_for_settings(self):
        # Padded in the last dimension, 16 rows cut into 4 and 32 matrices into 2.
        layout = self.printed("""
class Pad(nn.Cell):
    def __init__(self):
        super().__init__()
        self.pad = ops.PadV3().shard(((2, 4, 1), (1,), ()))
        self.w = Parameter(Tensor(shape=(32, 16, 8), dtype=ms.float32), "w")
    def construct(self, x):
        return self.pad(self.w, Tensor([2, 2]), Tensor(0.5))
net = Pad()
executor.compile(net, x)
print(json.dumps(net.parameter_layout_dict["w"]))
""")
        self.assertEqual(layout[2], [16, 4, 8])

    def test_custom_operator_follows_its_layouts(self):
        # Rows cut into 4 by "dp": 32 / 4 = 8 rows of x, 8 / 4 = 2 rows of the weights; the number has no layout.
        answer = self.printed("""
from mindspore.parallel import Layout
class Own(nn.Cell):
    def __init__(self):
        super().__init__()
        layout = Layout((4, 2), ("dp", "mp"))
        rows = lambda: layout("dp", "None")
        self.custom = ops.Custom(lambda x, ws, n: x, lambda x, ws, n: x, lambda x, ws, n: x, func_type="pyfunc")
        self.custom.shard((rows(), (rows(), rows()), layout("None")), (rows(),))
        self.w1 = Parameter(Tensor(shape=(8, 64), dtype=ms.float32), "w1")
        self.w2 = Parameter(Tensor(shape=(8, 64), dtype=ms.float32), "w2")
    def construct(self, x):
        return self.custom(x, (self.w1, self.w2), 3)
net = Own()
phase, _ = executor.compile(net, x)
nodes = executor._graph_executor.get_parallel_graph_info(phase)["@graph_0"]
print(json.dumps([net.parameter_layout_dict["w1"][2], nodes["Custom-0"]["inputs"], nodes["MakeTuple-1"]["inputs"]]))
""")
        self.assertEqual(answer[0], [2, 64])
        self.assertEqual(answer[1][1:], ["MakeTuple-1"])
        self.assertEqual(answer[2], ["Load-0", "Load-1"])

    def test_custom_operator_without_types_is_unsupported(self):
        self.assertEqual(self.printed("""
try:
    ops.Custom(lambda x: x, func_type="pyfunc")(x)
except _drydock.Unsupported as error:
    print(json.dumps(error.name))
"""), "mindspore.ops.Custom")

    def test_split_into_one_part_is_a_tuple(self):
        self.assertEqual(self.printed("""
print(json.dumps([list(part.shape) for part in ops.Split(0, 1)(x)]))
"""), [[32, 64]])

    def test_getters_of_the_executor_answer_for_the_phase(self):
        # 64 / 4 rows of the weight; the input is given whole to every rank (full_batch).
        answer = self.printed("""
net = Net().set_train()
phase, _ = executor.compile(net, x, phase="train")
graph = executor._graph_executor
print(json.dumps([
    [executor.has_compiled(phase), graph.has_compiled(phase), graph.has_compiled(phase + "x")],
    graph.get_parameter_layout(phase)["weight"][2], sorted(graph.get_parallel_parameter_name_list(phase)),
    graph.get_strategy(phase)["Default/MatMul-op0"], executor._get_num_parallel_ops(net),
    graph.get_parallel_graph_info("other"), graph.get_strategy("other")]))
""")
        self.assertEqual(answer[0], [True, True, False])
        self.assertEqual(answer[1], [16, 32])
        self.assertEqual(answer[2], ["weight", "x"])
        self.assertEqual(answer[3], [[2, 4], [4, 1]])
        self.assertEqual(answer[4], 3)  # MatMul, ReLU and the dataset, which gives each rank all
        self.assertEqual(answer[5:], [{}, {}])

    def test_ranks_that_hold_parts_of_a_parameter(self):
        # On 4 x 8 devices the innermost dimension cuts columns into 8: ranks 0 to 7 hold them all.
        self.assertEqual(self.printed("""
from mindspore.parallel._utils import _infer_rank_list as ranks
from mindspore.parallel._parallel_serialization import _get_param_list_when_first_dim_sharded as block
cut = {"w": [[4, 8], [-1, 0]]}
print(json.dumps([ranks(cut)["w"], ranks(cut, {"w": [[8], [-1, 0]]})["w"], ranks(cut, {"w": [[2, 2], [1, 0]]})["w"],
                  block([64, 8], 1, 19)]))
"""), [[list(range(8)), False], [[0], True], [list(range(8)), False], list(range(16, 24))])

    def test_settings_without_default_may_be_given_to_the_constructor(self):
        self.assertEqual(self.printed("""
q = Tensor(shape=(2, 16, 64), dtype=ms.float16)
print(json.dumps(list(ops.auto_generate.PromptFlashAttention(num_heads=4)(q, q, q, None, None, None, None, None, None, None, None,
                                                           None).shape)))
"""), [2, 16, 64])

    def test_second_compile_of_a_signature_is_not_new(self):
        self.assertEqual(self.printed("""
net = Net()
first, new = executor.compile(net, x)
second, again = executor.compile(net, x)
print(json.dumps([first == second, new, again]))
"""), [True, True, False])

    def test_hook_tells_about_the_last_compile(self):
        facts = self.printed("""
before = _drydock.last_compile()
executor.compile(Net(), x)
first = _drydock.last_compile()
executor.compile(Net(), x)
second = _drydock.last_compile()
print(json.dumps([before, first["ops"], first["without_rule"], first["violations"], first["redistributions"],
                  first["serial"] < second["serial"]]))
""")
        # Into the product, into ReLU, and the result of a network that is not trained whole to every rank (full_batch).
        self.assertEqual(facts, [None, ["MatMul", "ReLU"], [], [], 3, True])

    def test_illegal_strategy_is_a_runtime_error_with_place_and_reason(self):
        error = self.error(HEAD + "executor.compile(Net(second=((3, 1),)), x)\n")
        self.assertEqual(error["type"], "RuntimeError")
        self.assertIn("ReLU", error["reason"])
        self.assertEqual(error["place"]["text"].strip(), "self.relu = ops.ReLU().shard(second)")

    def test_settings_are_those_of_the_moment(self):
        self.assertEqual(self.printed("""
context.reset_auto_parallel_context()
net = Net()
executor.compile(net, x)
print(json.dumps(net.parameter_layout_dict))
"""), {})


class UserPrimitives(TraceTest):
    def test_shapes_come_from_the_script(self):
        run = self.trace(HEAD + """
context.reset_auto_parallel_context()
class Half(ops.PrimitiveWithInfer):
    @ops.prim_attr_register
    def __init__(self, factor=2):
        pass
    def infer_shape(self, shape):
        return [shape[0] // 2] + shape[1:]
    def infer_dtype(self, dtype):
        return ms.float16
class Cut(nn.Cell):
    def __init__(self):
        super().__init__()
        self.half = Half(3)
    def construct(self, x):
        y = self.half(x)
        assert y.shape == (16, 64) and y.dtype == ms.float16
        return y
Cut()(x)
""")
        node = run.documents[0]["nodes"][0]
        self.assertEqual((node["op"], node["attrs"]["factor"]), ("Half", 3))

    def test_call_of_the_script_is_for_outside_of_networks(self):
        run = self.trace(HEAD + """
context.reset_auto_parallel_context()
class Same(ops.PrimitiveWithInfer):
    @ops.prim_attr_register
    def __init__(self):
        pass
    def __call__(self, x):
        raise KeyError("called")
    def infer_shape(self, shape):
        return shape
    def infer_dtype(self, dtype):
        return dtype
class Twice(nn.Cell):
    def __init__(self):
        super().__init__()
        self.same = Same()
    def construct(self, x):
        return self.same(x)
Twice()(x)
try:
    Same()(x)
except KeyError as error:
    print(error)
""")
        self.assertEqual(self.ops(run), ["Same"])
        self.assertIn("'called'", run.output)


class Numbers(TraceTest):
    def test_cast_of_a_known_number_is_a_number(self):
        run = self.trace(HEAD + """
context.reset_auto_parallel_context()
class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.rate = Tensor(0.5)
    def construct(self, x):
        rate = ops.cast(self.rate, ms.float16)
        assert rate.dtype == ms.float16 and rate.item() == 0.5
        return ops.cast(x, ms.float16) * rate
Scaled()(x)
""")
        self.assertEqual(self.ops(run), ["Cast", "Mul"])

    def test_cast_of_a_python_number_is_a_number(self):
        # As in a Dropout written by hand, whose keep probability is cast to the type of its input.
        run = self.trace(HEAD + """
context.reset_auto_parallel_context()
class Scale(nn.Cell):
    def construct(self, x):
        return x * ops.Cast()(0.5, ms.float32)
Scale()(x)
""")
        self.assertEqual(self.ops(run), ["Mul"])

    def test_comparison_of_known_numbers_decides(self):
        run = self.trace(HEAD + """
context.reset_auto_parallel_context()
class Chosen(nn.Cell):
    def __init__(self):
        super().__init__()
        self.rate = Tensor(0.5, ms.float16)
    def construct(self, x):
        if self.rate < 1.0 and not self.rate == Tensor(0.25):
            return ops.relu(x)
        return ops.tanh(x)
Chosen()(x)
""")
        self.assertEqual(self.ops(run), ["ReLU"])


class OpenExtents(TraceTest):
    SUM = """
class Sum(nn.Cell):
    def construct(self, x, y):
        return x + y
context.reset_auto_parallel_context()
Sum()(Tensor(shape=%s, dtype=ms.float32), Tensor(shape=(16, 64), dtype=ms.float32))
"""

    def test_shapes_that_fit_no_example_are_a_limit(self):
        error = self.error(HEAD + self.SUM % "(None, 32)")
        self.assertEqual((error["type"], error["family"]), ("Unsupported", "unsupported"))
        self.assertIn("cannot broadcast", error["message"])
        self.assertIn("set_inputs", error["reason"])
        self.assertEqual(error["place"]["text"].strip(), "return x + y")

    def test_whole_shapes_that_do_not_fit_are_the_mistake_of_the_user(self):
        error = self.error(HEAD + self.SUM % "(7, 64)")
        self.assertEqual((error["type"], error["family"]), ("ValueError", "user"))


class SyncBatchNorm(TraceTest):
    NET = """
context.reset_auto_parallel_context()
context.set_auto_parallel_context(parallel_mode="%s")
norm = nn.SyncBatchNorm(4%s)
norm.set_train()
norm(Tensor(shape=(8, 4, 2, 2), dtype=ms.float32))
print(norm.group_name, norm.is_global)
"""

    def test_groups_are_named_as_the_reference_does(self):
        import hashlib
        run = self.trace(HEAD + self.NET % ("data_parallel", ", process_groups=[[0, 1], [2, 3]]"), rank=1)
        self.assertIn("2_%s True" % hashlib.sha256(b"0_1").hexdigest(), run.output)
        self.assertIn("exchange of statistics", " ".join(run.warnings))

    def test_rank_without_neighbours_keeps_its_statistics(self):
        run = self.trace(HEAD + self.NET % ("data_parallel", ", process_groups=[[0], [1, 2]]"))
        self.assertIn("None False", run.output)
        self.assertNotIn("exchange of statistics", " ".join(run.warnings))

    def test_cut_batches_exchange_statistics_by_the_rule_of_the_operator(self):
        run = self.trace("from mindspore.communication import init\ninit()\n" + HEAD + self.NET % ("semi_auto_parallel", ""))
        self.assertIn("hccl_world_group True", run.output)
        self.assertNotIn("exchange of statistics", " ".join(run.warnings))

    def test_groups_that_share_a_rank_are_refused(self):
        error = self.error(HEAD + self.NET % ("data_parallel", ", process_groups=[[0, 1], [1, 2]]"))
        self.assertEqual(error["reason"], "SyncBatchNorm:ranks")


if __name__ == "__main__":
    unittest.main()
