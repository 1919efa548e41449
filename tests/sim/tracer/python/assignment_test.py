"""x[...] = value: which places are written, what a network records for it, and what the name x stands for."""
import unittest

from helper import TraceTest

HEAD = """
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor

def show(index, value, rows=4, columns=6):
    x = Tensor([[0] * columns] * rows, ms.int32)
    x[index] = value
    print(x.tolist())
"""
NET = HEAD + """
class Net(nn.Cell):
    def construct(self, x, y):
%s
        return x

result = Net()(Tensor(shape=(4, 6), dtype=ms.float32), Tensor(shape=(4, 6), dtype=ms.float32))
print(result.shape)
"""
END = "Net()(Tensor(shape=(4, 6), dtype=ms.float32), Tensor(shape=(4, 6), dtype=ms.float32))\n"


def table(places, rows=4, columns=6):
    """Zeros but for the places: a dictionary, or a list of places that hold 1."""
    places = places if isinstance(places, dict) else {place: 1 for place in places}
    return str([[places.get((row, column), 0) for column in range(columns)] for row in range(rows)])


class ValuesOutsideOfNetworks(TraceTest):
    CASES = (
        ("1", [(1, column) for column in range(6)]),
        ("-1", [(3, column) for column in range(6)]),
        ("slice(1, 3)", [(row, column) for row in (1, 2) for column in range(6)]),
        ("slice(None, None, 2)", [(row, column) for row in (0, 2) for column in range(6)]),
        ("slice(3, 0, -2)", [(row, column) for row in (1, 3) for column in range(6)]),
        ("slice(2, 2)", []),
        ("(..., 0)", [(row, 0) for row in range(4)]),
        ("(0, ..., 5)", [(0, 5)]),
        ("(2, slice(1, 3))", [(2, 1), (2, 2)]),
        ("(3, 4)", [(3, 4)]),
        ("(slice(1, 3), [0, -1])", [(1, 0), (1, 5), (2, 0), (2, 5)]),
        ("([0, 2], [1, 3])", [(0, 1), (2, 3)]),
        ("(Tensor([[0], [1]]), Tensor([2, 4]))", [(0, 2), (0, 4), (1, 2), (1, 4)]),
        ("(None, 1, slice(4, 6))", [(1, 4), (1, 5)]),
        ("[1, 1, 3]", [(row, column) for row in (1, 3) for column in range(6)]),
        ("Tensor([0, -1], ms.int32)", [(row, column) for row in (0, 3) for column in range(6)]),
        ("Tensor(2)", [(2, column) for column in range(6)]),
        ("[True, False, False, True]", [(row, column) for row in (0, 3) for column in range(6)]),
        ("Tensor([True, False, True, False])", [(row, column) for row in (0, 2) for column in range(6)]),
        ("(Tensor([True, False, True, False]), 5)", [(0, 5), (2, 5)]),
        ("False", []),
        ("...", [(row, column) for row in range(4) for column in range(6)]),
        ("None", [(row, column) for row in range(4) for column in range(6)]),
    )

    def test_every_form_of_an_index(self):
        run = self.trace(HEAD + "".join("show(%s, 1)\n" % index for index, _ in self.CASES) + """
class Net(nn.Cell):
    def construct(self, x):
        return x + 1
Net()(Tensor(shape=(2,), dtype=ms.float32))
""")
        lines = run.output.splitlines()
        for (index, places), line in zip(self.CASES, lines):
            self.assertEqual(line, table(places), index)
        self.assertGreaterEqual(len(lines), len(self.CASES))

    def test_values_lie_where_the_index_puts_them(self):
        run = self.trace(HEAD + """
show((slice(0, 2), slice(3, 5)), Tensor([[1, 2], [3, 4]]))
show((slice(0, 2), slice(3, 5)), [7, 8])
show(([2, 0],), Tensor([[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]]))
show((slice(None), None, 0), Tensor([[1], [2], [3], [4]]))
show(3, 2.9)
class Net(nn.Cell):
    def construct(self, x):
        return x + 1
Net()(Tensor(shape=(2,), dtype=ms.float32))
""")
        self.assertEqual(run.output.splitlines()[:5], [
            table({(0, 3): 1, (0, 4): 2, (1, 3): 3, (1, 4): 4}),
            table({(0, 3): 7, (0, 4): 8, (1, 3): 7, (1, 4): 8}),
            table(dict([((2, c), c + 1) for c in range(6)] + [((0, c), 6 - c) for c in range(6)])),
            table({(0, 0): 1, (1, 0): 2, (2, 0): 3, (3, 0): 4}),
            table({(3, c): 2 for c in range(6)})])  # a whole number holds no 2.9


    def test_all_dimensions_are_flattened_unless_the_first_is_named(self):
        run = self.trace(HEAD + """
x = Tensor([[0, 0], [0, 0]], ms.int32)
x[1] = Tensor([3, 4], ms.int32)
print(x.tolist(), Tensor(shape=(2, 3, 4), dtype=ms.float32).flatten().shape,
      Tensor(shape=(2, 3, 4), dtype=ms.float32).flatten(start_dim=1).shape)
class Net(nn.Cell):
    def construct(self, x):
        return x + 1
Net()(Tensor(shape=(2,), dtype=ms.float32))
""")
        self.assertIn("[[0, 0], [3, 4]] (24,) (2, 12)", run.output)


class RecordedOperators(TraceTest):
    def lines(self, text):
        return NET % "\n".join("        " + line for line in text.splitlines())

    def test_what_is_known_of_the_places_is_a_constant(self):
        rows, places = ["StridedSlice", "BroadcastTo"], ["StridedSlice", "ExpandDims", "ExpandDims", "Concat", "BroadcastTo"]
        for text, columns, named in (
                ("x[1:3] = y[0:2]", [[1, 2]], rows),
                ("x[-1] = y[0]", [[3]], rows),
                ("x[1, 2:4] = y[0, :2]", [[1, 1], [2, 3]], places),
                ("x[..., 5] = y[..., 0]", [[0, 1, 2, 3], [5, 5, 5, 5]], places),
                ("x[[0, -2], 1] = y[:2, 3]", [[0, 2], [1, 1]], places)):
            run = self.trace(self.lines(text))
            self.assertEqual(self.ops(run), named + ["TensorScatterUpdate"], text)
            constants = [constant.get("data") for constant in run.documents[0]["constants"]]
            for column in columns:
                self.assertIn(column, constants, text)
            self.assertIn("(4, 6)", run.output)

    def test_numbers_are_constants(self):
        run = self.trace(self.lines("x[1:3] = 0\nx[0, 1] = 2.5\nx[2] = 1"))
        self.assertEqual(self.ops(run), ["TensorScatterUpdate", "ExpandDims", "ExpandDims", "Concat"] + ["TensorScatterUpdate"] * 2)

    def test_computed_positions_are_put_together_by_operators(self):
        run = self.trace(self.lines("i = ops.argmax(y, dim=-1)\nx[i] = y\nx[ops.arange(0, 4), i] = 1"))
        named = self.ops(run)
        self.assertEqual(named.count("TensorScatterUpdate"), 2)
        self.assertEqual(named.count("Select"), 3)  # positions that count from the end
        self.assertEqual(named.count("Concat"), 1)

    def test_a_mask_selects(self):
        run = self.trace(self.lines("x[y > 0] = 0\nx[y.sum(1) > 0] = y"))
        self.assertEqual([op for op in self.ops(run) if op in ("Select", "TensorScatterUpdate")], ["Select"] * 2)

    def test_everything_is_the_value(self):
        run = self.trace(self.lines("x[...] = y\nx[None] = ops.relu(y)"))
        self.assertEqual(self.ops(run), ["BroadcastTo", "ReLU", "BroadcastTo"])

    def test_gradients_flow_through_the_tensor_and_the_value(self):
        self.trace(HEAD + """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(6, 6), nn.Dense(6, 6)
    def construct(self, x):
        y, z = self.a(x), self.b(x)
        y[1:3] = z[1:3]
        y[..., 0] += z[..., 1]
        return y.sum()
net = Net()
step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
step(Tensor(shape=(4, 6), dtype=ms.float32))
""")


    def test_a_parameter_is_written_where_it_lies(self):
        run = self.trace(HEAD + """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor(shape=(4, 6), dtype=ms.float32, init="zeros"), name="p")
    def construct(self, x):
        self.p[0] = x[1]
        self.p[1, 2] = 3
        return self.p + x
net = Net()
net.p[3] = 1
net(Tensor(shape=(4, 6), dtype=ms.float32))
""")
        self.assertEqual([op for op in self.ops(run) if op in ("ScatterNdUpdate", "TensorScatterUpdate", "Assign")], ["ScatterNdUpdate"] * 2)


class Names(TraceTest):
    def test_other_names_keep_the_tensor(self):
        run = self.trace(NET % """        a = x
        x[0] = 1
        return ops.relu(a)""")
        self.assertEqual(self.operand_of_relu(run), "x")

    def test_what_a_caller_holds_stays(self):
        run = self.trace(HEAD + """
class Inner(nn.Cell):
    def construct(self, x):
        x[0] = 1
        return x
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def construct(self, x, y):
        self.inner(x)
        return ops.relu(x)
""" + END)
        self.assertEqual(self.operand_of_relu(run), "x")

    def test_a_part_of_a_list_is_replaced_in_it(self):
        run = self.trace(NET % """        parts = [x, y]
        parts[1][0] = 1
        return ops.relu(parts[1])""")
        self.assertEqual(self.operand_of_relu(run), "TensorScatterUpdate0")

    def test_a_part_of_a_part_is_written_in_the_whole(self):
        run = self.trace(NET % """        x[1:3][:, 0] = 1
        return ops.relu(x)""")
        self.assertEqual(self.ops(run), ["StridedSlice", "ExpandDims", "ExpandDims", "Concat", "TensorScatterUpdate", "BroadcastTo",
                                         "TensorScatterUpdate", "ReLU"])
        self.assertEqual(self.operand_of_relu(run), "TensorScatterUpdate1")

    def test_a_variable_of_a_closure_is_replaced(self):
        run = self.trace(NET % """        def inner():
            return ops.relu(x)
        x[0] = 1
        return inner()""")
        self.assertEqual(self.operand_of_relu(run), "TensorScatterUpdate0")

    @staticmethod
    def operand_of_relu(run):
        return next(node["inputs"][0] for node in run.documents[0]["nodes"] if node["op"] == "ReLU")


class Refusals(TraceTest):
    def refused(self, text, reason, family):
        error = self.error(NET % ("        " + text))
        self.assertEqual((error["reason"].replace(":unsupported", ""), error["family"]), (reason, family), text)
        self.assertEqual(error["place"]["text"].strip(), text)

    def test_a_mask_beside_other_indices_is_our_limit(self):
        self.refused("x[y.sum(1) > 0, 0] = 1", "Tensor.mask-index", "unsupported")

    def test_mistakes_are_the_users(self):
        for text, reason in (("x[4] = 1", "Tensor:index"), ("x[0, 0, 0] = 1", "Tensor:index"), ("x['a'] = 1", "Tensor:index"),
                           ("x[0:2] = y", "Tensor:assigned-shape"), ("x[0] = None", "Tensor:assigned-type"),
                           ("x[..., ...] = 1", "Tensor:index"), ("x[y] = 1", "Tensor:index"), ("x[::0] = 1", "Tensor:index")):
            self.refused(text, reason, "user")


if __name__ == "__main__":
    unittest.main()
