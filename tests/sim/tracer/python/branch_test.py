"""Branches on tensor values: both sides are recorded, the condition selects."""
import unittest

from helper import TraceTest

HEAD = """
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
x = Tensor(shape=(4, 6), dtype=ms.float32)
s = Tensor(shape=(), dtype=ms.float32)
"""


class Branches(TraceTest):
    def test_both_sides_are_recorded_once(self):
        run = self.trace(HEAD + """
class Net(nn.Cell):
    def construct(self, x, s):
        y = ops.exp(x)
        if s > 0:
            return ops.relu(y)
        return ops.tanh(y)
Net()(x, s)
""")
        ops = self.ops(run)
        # What stands before the branch is not repeated.
        self.assertEqual([ops.count(name) for name in ("Exp", "Greater", "ReLU", "Tanh", "Select")], [1] * 5)
        select = run.documents[0]["nodes"][ops.index("Select")]
        self.assertEqual([name.lower()[:4] for name in select["inputs"][1:]], ["relu", "tanh"])

    def test_updates_of_one_side_are_told_apart_from_what_decides(self):
        run = self.trace(HEAD + """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(6, 3)
    def construct(self, x):
        return self.dense(x).sum()
class Rate(nn.Cell):
    def construct(self, s):
        return s * 2 if s < 5 else s
class Step(nn.TrainOneStepCell):
    def __init__(self, *given):
        super().__init__(*given)
        self.rate = Rate()
    def construct(self, x, s):
        loss = self.network(x)
        grads = self.grad(self.network, self.weights)(x, 1.0)
        rate = self.rate(s)
        if s > 0:
            loss = ops.depend(loss, self.optimizer(grads))
        return loss, rate
net = Net()
Step(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))(x, s)
""")
        nodes = run.documents[0]["nodes"]
        marked = [[node["op"] for node in nodes if name in node.get("attrs", {})]
                  for name in ("decides_branch", "conditional", "selects_side")]
        self.assertEqual(marked[0], ["Less", "Greater"])
        self.assertEqual(set(marked[1]), {"ApplyMomentum", "AssignAdd"})
        self.assertIn("Select", marked[2])
        self.assertEqual(sum("on the host" in text for text in run.warnings), 1)

    def test_update_behind_an_overflow_is_a_graph_with_one_thread(self):
        script = HEAD + """
%s
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(shape=(6, 6), dtype=ms.float32), name="w")
    def construct(self, x):
        return ops.reduce_mean(ops.matmul(x, self.w))
net = Net()
nn.TrainOneStepWithLossScaleCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), nn.DynamicLossScaleUpdateCell(8, 2, 10))(x)
"""
        for setting, guarded in (("", set()), ("ms.set_context(runtime_num_threads=1)", {"ApplyMomentum", "AssignAdd"}),
                                 ("ms.runtime.dispatch_threads_num(1)", {"ApplyMomentum", "AssignAdd"})):
            with self.subTest(setting):
                nodes = self.trace(script % setting).documents[0]["nodes"]
                marked = {node["op"] for node in nodes if "conditional" in node.get("attrs", {})}
                self.assertEqual(marked, guarded)

    def test_loss_behind_an_update_in_a_branch_is_the_loss(self):
        """MindSpore's graph of such a step has no Select for the loss."""
        script = HEAD + """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(shape=(6, 6), dtype=ms.float32), name="w")
    def construct(self, x):
        return ops.reduce_mean(ops.matmul(x, self.w))
class Step(nn.TrainOneStepCell):
    def construct(self, x, s):
        loss = self.network(x)
        grads = self.grad(self.network, self.weights)(x, self.sens)
        if %s:
            loss = ops.depend(loss, self.optimizer(grads))
        %s
        return loss
net = Net()
Step(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))(x, s)
"""
        for condition, otherwise, selects in (("s > 0", "", 0), ("not s > 0", "", 0), ("s > 0", "else: loss = ops.exp(loss)", 1)):
            with self.subTest(condition=condition, otherwise=otherwise):
                nodes = self.trace(script % (condition, otherwise)).documents[0]["nodes"]
                self.assertEqual(sum(node["op"] == "Select" for node in nodes), selects)

    def test_two_branches_give_four_outcomes(self):
        run = self.trace(HEAD + """
class Net(nn.Cell):
    def construct(self, x, s):
        y = ops.relu(x) if s > 0 else ops.tanh(x)
        return ops.exp(y) if s > 1 else ops.sqrt(y)
Net()(x, s)
""")
        ops = self.ops(run)
        # Exp and Sqrt of ReLU's and of Tanh's result; two selections inside, one outside.
        self.assertEqual([ops.count(name) for name in ("ReLU", "Tanh", "Exp", "Sqrt", "Select")], [1, 1, 2, 2, 3])

    def test_branch_in_a_nested_cell_stays_inside(self):
        run = self.trace(HEAD + """
class Inner(nn.Cell):
    def construct(self, x, s):
        if s > 0:
            return ops.relu(x)
        return ops.tanh(x)
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def construct(self, x, s):
        return ops.exp(self.inner(x, s))
Net()(x, s)
""")
        self.assertEqual([self.ops(run).count(name) for name in ("ReLU", "Tanh", "Exp", "Select")], [1] * 4)

    def test_known_value_decides(self):
        run = self.trace(HEAD + """
class Net(nn.Cell):
    def construct(self, x):
        if Tensor(2.0) > 1:
            x = ops.relu(x)
        return x
Net()(x)
""")
        self.assertIn("ReLU", self.ops(run))

    def test_sides_of_different_shapes_are_refused_with_the_line(self):
        error = self.error(HEAD + """
class Net(nn.Cell):
    def construct(self, x, s):
        if s > 0:
            return x + 1
        return ops.reduce_sum(x)
Net()(x, s)
""")
        self.assertEqual((error["type"], error["reason"]), ("RuntimeError", "control-flow:branches-differ"))
        self.assertIn("net.py:9", error["message"])

    def test_loop_on_a_tensor_is_unsupported_with_the_line(self):
        error = self.error(HEAD + """
class Net(nn.Cell):
    def construct(self, x, s):
        while s > 0:
            s = s - 1
            x = x + 1
        return x
Net()(x, s)
""")
        self.assertEqual((error["family"], error["reason"]), ("unsupported", "control-flow.tensor-value:unsupported"))
        self.assertIn("net.py:9", error["message"])

    COUNTS = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(Tensor(0.0), "count")
        self.other = Parameter(Tensor(0.0), "other")
    def construct(self, x, s):
%s
        return x * self.count
Net()(x, s)
"""

    def test_an_update_that_one_side_has_is_recorded_once(self):
        for body in ("        if s > 0:\n            ops.assign_add(self.count, s)",
                     "        if s > 0:\n            x = x * 2\n        else:\n            ops.assign_add(self.count, s)",
                     "        if s > 0:\n            ops.assign_add(self.count, s)\n            if s > 1:\n                x = x * 2"):
            with self.subTest(body):
                self.assertEqual(self.ops(self.trace(HEAD + self.COUNTS % body)).count("AssignAdd"), 1)

    def test_sides_that_update_differently_are_unsupported(self):
        for one, other in (("self.count, s", "self.other, s"), ("self.count, s", "self.count, s * 2")):
            error = self.error(HEAD + self.COUNTS % ("        if s > 0:\n            ops.assign_add(%s)\n        else:\n"
                                                     "            ops.assign_add(%s)" % (one, other)))
            self.assertEqual((error["family"], error["reason"]), ("unsupported", "control-flow.side-effect:unsupported"))
            self.assertIn("updates parameters differently on its sides", error["message"])

    STEP = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(shape=(4, 4), dtype=ms.float32), "w")
    def construct(self, x):
        return ops.reduce_mean(ops.matmul(x, self.w))
class Step(nn.Cell):
    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net = net
        self.optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        self.grad = ops.GradOperation(get_by_list=True)
    def construct(self, x, s):
        loss = self.net(x)
        grads = self.grad(self.net, self.optimizer.parameters)(x)
        %s
        return loss
Step(Net())(Tensor(shape=(4, 4), dtype=ms.float32), s)
"""

    def test_step_that_a_branch_guards_is_recorded(self):
        for guard in ("if s > 0:\n            self.optimizer(grads)", "if not s > 0:\n            self.optimizer(grads)",
                      "if s > 0:\n            loss = loss * 2\n        else:\n            self.optimizer(grads)"):
            with self.subTest(guard):
                run = self.trace(HEAD + self.STEP % guard)
                self.assertEqual(self.ops(run).count("ApplyMomentum"), 1)

    def test_averages_of_weights_beside_a_guarded_step_are_recorded(self):
        """Momentum's step of the one weight, and the one average of it: s * 0.9 + w * 0.1."""
        step = self.STEP % ("if not s > 0:\n            self.optimizer(grads)\n"
                            "            for mean, w in zip(self.means, self.optimizer.parameters):\n"
                            "                ops.assign(mean, mean * 0.9 + w * 0.1)")
        step = step.replace("        self.grad =", "        self.means = self.optimizer.parameters.clone('ema')\n        self.grad =")
        ops = self.ops(self.trace(HEAD + step))
        self.assertEqual((ops.count("ApplyMomentum"), ops.count("Assign")), (1, 1))

    def test_updates_behind_a_branch_are_recorded_once(self):
        for guard in ("if s > 0:\n            self.optimizer(grads)", "if not s > 0:\n            self.optimizer(grads)",
                      "if s > 0:\n            self.optimizer(grads)\n            return loss"):
            with self.subTest(guard):
                step = self.STEP % (guard + "\n        ops.assign(self.seen, Tensor(1, ms.int32))")
                step = step.replace("        self.grad =", "        self.seen = Parameter(Tensor(0, ms.int32), name='seen')\n"
                                                           "        self.grad =")
                ops = self.ops(self.trace(HEAD + step))
                self.assertEqual((ops.count("ApplyMomentum"), ops.count("Assign")), (1, 1))

    def test_a_cell_that_counts_its_calls_is_called_as_often_on_both_sides(self):
        run = self.trace(HEAD + """
class Count(nn.Cell):
    def __init__(self):
        super().__init__()
        self.n = Parameter(Tensor(0, ms.float32), name="n")
    def construct(self, x):
        ops.assign_add(self.n, Tensor(1, ms.float32))
        return x * self.n
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Count()
    def construct(self, x, s):
        y = self.count(x) + self.count(x)
        return y if s > 0 else x
Net()(x, s)
""")
        self.assertEqual((self.ops(run).count("AssignAdd"), self.ops(run).count("Mul")), (2, 2))

    def test_cells_made_inside_of_a_branching_network_are_its_own(self):
        run = self.trace(HEAD + """
class Net(nn.Cell):
    def construct(self, x, s):
        y = nn.ReLU()(x)
        return y if s > 0 else x
Net()(x, s)
""")
        self.assertEqual(self.ops(run).count("ReLU"), 1)

    def test_a_loop_that_a_value_ends_is_told_from_many_branches(self):
        net = HEAD + """
class Net(nn.Cell):
    def construct(self, x, s):
%s
        return x
Net()(x, s)
"""
        loop = self.error(net % "        while x.sum() < s:\n            x = x + 1")
        self.assertEqual((loop["family"], loop["reason"]), ("unsupported", "control-flow.tensor-value:unsupported"))
        self.assertRegex(loop["message"], r"a loop at .*, more than 6 times")
        branches = self.error(net % "\n".join("        if s > %d:\n            x = x + %d" % (i, i) for i in range(7)))
        self.assertRegex(branches["message"], "more than 6 tensors, the last at ")

    def test_steps_on_both_sides_are_unsupported(self):
        error = self.error(HEAD + self.STEP % "if s > 0:\n            self.optimizer(grads)\n        else:\n"
                                              "            self.optimizer(tuple(g * 2 for g in grads))")
        self.assertEqual((error["family"], error["reason"]), ("unsupported", "control-flow.side-effect:unsupported"))
        self.assertIn("on several sides", error["message"])


if __name__ == "__main__":
    unittest.main()
