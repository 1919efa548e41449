"""Every name of surface.txt is there; operators, layers and optimizers of it record a program."""
import os
import unittest

from helper import TraceTest

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "surface.txt")

NAMES = r'''
import mindspore
from mindspore._drydock import Unsupported
from mindspore._drydock.lazy import Stub
for name, unsupported in NAMES:
    found = mindspore
    for part in name.split("."):
        found = getattr(found, part)
    if not unsupported:
        made = type(found).__name__ == "module" and not getattr(found, "__file__", None)
        print(name, "missing" if isinstance(found, Stub) or made else "there")
        continue
    try:
        made = found()
        if isinstance(made, mindspore.ops.Primitive):  # operators can be made, not called
            made(1)
        print(name, "answered")
    except Unsupported as limit:
        generated = "mindspore." + name.replace("ops.auto_generate.", "ops.")  # operators are named alike wherever they come from
        print(name, "unsupported" if limit.name == generated else limit.name)
    except Exception as error:
        print(name, repr(error))
'''

TRACES = r'''
import mindspore as ms
from mindspore import Tensor, mint, nn, ops
from mindspore._drydock.session import session

KINDS = {"f": ms.float32, "h": ms.float16, "i": ms.int32, "b": ms.bool_}


class Mean(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(8, 4)

    def construct(self, x):
        return ops.reduce_mean(self.dense(x))


def trained(optimizer):
    network = Mean()
    return network, optimizer(network.trainable_params())


def step(optimizer):
    return nn.TrainOneStepCell(*trained(optimizer))


class Call(nn.Cell):
    def __init__(self, function, operands):
        super().__init__(auto_prefix=False)
        self.function, self.operands = function, operands

    def construct(self, *tensors):
        left = list(tensors)
        return self.function(*[left.pop(0) if isinstance(v, Tensor) else v for v in self.operands])


def operand(text):
    if text[0] in KINDS and text[1:2].isdigit():
        return Tensor(shape=[int(n) for n in text[1:].split(",")], dtype=KINDS[text[0]])
    return eval(text)


for name, expression, operands in CALLS:
    try:
        operands = [operand(text) for text in operands.split()]
        count = len(session.programs)
        call = Call(eval(expression), operands)
        call(*[v for v in operands if isinstance(v, Tensor)])
        program = session.programs[-1]
        wanted = name[4:] if name.startswith("ops.") and name[4:5].isupper() else None
        good = len(session.programs) == count + 1 and program.node_count and (wanted in program.op_names or not wanted)
        print(name, "recorded" if good else "not recorded: %s" % sorted(program.op_names))
    except Exception as error:
        print(name, type(error).__name__, str(error).splitlines()[:1])
'''


def listed():
    with open(LIST) as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [[part.strip() for part in line.split("|")] for line in lines]


class Surface(TraceTest):
    def outcomes(self, source, table, wanted):
        """Asserts that the script prints, for every row of the table, its name and what is wanted of it."""
        run = self.trace(source)
        found = dict(line.split(" ", 1) for line in run.output.splitlines() if " " in line)
        self.assertEqual({row[0]: found.get(row[0]) for row in table if found.get(row[0]) != wanted(row)}, {})

    def test_names_are_there_or_unsupported_by_name(self):
        rows = listed()
        self.assertGreater(len(rows), 800)
        pairs = [(row[0], row[1:2] == ["unsupported"]) for row in rows]
        self.outcomes("NAMES = %r\n" % (pairs,) + NAMES, pairs, lambda row: "unsupported" if row[1] else "there")

    def test_operators_layers_and_optimizers_record(self):
        calls = [row for row in listed() if len(row) == 3]
        self.assertGreater(len(calls), 180)
        self.outcomes("CALLS = %r\n" % (calls,) + TRACES, calls, lambda row: "recorded")


if __name__ == "__main__":
    unittest.main()
