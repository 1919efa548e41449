"""Files of cuts: both formats are read and merged, and tell which ranks hold the parts of a new cut."""
import unittest

from helper import TraceTest

# The bytes of two small files, written out by hand from the public description of the messages: fields are (number << 3 | type).
WRITE = r'''
import json, os
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor


def field(number, value):
    return bytes([number << 3 | (0 if isinstance(value, int) else 2)]) + (
        bytes([value]) if isinstance(value, int) else bytes([len(value)]) + value)


def dims(*numbers):
    return b"".join(field(1, n) if n >= 0 else b"\x08" + b"\xff" * 9 + b"\x01" for n in numbers)


def layout(matrix, cuts, part, step=0, size=0):
    return (field(1, dims(*matrix)) + field(2, dims(*cuts)) + field(3, dims(*part)) + field(4, b"") + field(5, 0) + field(6, step)
            + field(7, size))


def write(path, stage, **layouts):
    item = field(1, b"op") + field(2, field(1, stage) + field(2, dims(1, 1)))
    data = field(1, 1) + field(2, item)
    for name, value in layouts.items():
        data += field(3, field(1, name.encode()) + field(2, value))
    with open(path, "wb") as file:
        file.write(data)
'''

READ = WRITE + r'''
write("four.ckpt", 0, w=layout((4,), (0, -1), (2, 6)))                # 8 rows in 4
write("two.ckpt", 0, w=layout((2, 2), (1, -1), (4, 6)))               # in 2, each part on 2 neighbours
write("whole.ckpt", 0, w=layout((4,), (-1, -1), (8, 6)))
write("optimizer.ckpt", 0, w=layout((4,), (-1, -1), (8, 6), 1, 4))    # whole, but its states in 4
write("columns.ckpt", 0, w=layout((2, 2), (-1, 0), (8, 3)))           # columns in 2, by the innermost axis
write("pairs.ckpt", 0, w=layout((4, 2), (1, -1), (2, 6)))             # in 4, each part on 2 neighbours
write("inner.ckpt", 0, w=layout((2, 4), (0, -1), (2, 6)))             # in 4, each part on ranks 4 apart
write("shards.ckpt", 0, w=layout((2, 4), (-1, 0), (8, 3), 4, 2))      # columns in 4, and their states in 2
found = ms.build_searched_strategy("two.ckpt")["w"]
print(found.dev_matrix[0].dim, found.tensor_map[0].dim, found.param_split_shape[0].dim, found.opt_weight_shard_size)
for rank, source, target in ((0, "four", None), (0, "four", "two"), (3, "four", "two"), (2, "two", "four"), (3, "whole", "four"),
                             (1, "optimizer", "whole"), (1, "optimizer", "two"), (3, "columns", "four"), (1, "four", "pairs"), (3, "inner", "pairs"),
                             (5, "pairs", "inner"), (2, "shards", "four")):
    print(rank, source, target, ms.rank_list_for_transform(rank, source + ".ckpt", target and target + ".ckpt"))
os.mkdir("stages")
write("stages/a.ckpt", 0, w=layout((2,), (0, -1), (4, 6)))
write("stages/b.ckpt", 1, v=layout((2,), (0, -1), (4, 6)))
ms.merge_pipeline_strategys("stages", "out/all.ckpt")
print(sorted(ms.build_searched_strategy("out/all.ckpt")), ms.rank_list_for_transform(0, "out/all.ckpt"))
with open("four.json", "w") as file:
    json.dump({"current_stage": 0, "parallel_strategy_item": {"op": {"stage": 0, "parallel_strategy": [[1, 1]]}},
               "parallel_layout_item": {"w": {"dev_matrix": [4], "tensor_map": [0, -1], "param_split_shape": [2, 6],
                                              "field": 0, "opt_weight_shard_step": 0, "opt_weight_shard_size": 0}}}, file)
print(ms.rank_list_for_transform(0, "four.json", "two.ckpt"))
with open("groups.pb", "wb") as file:
    file.write(field(1, field(1, b"g") + field(2, dims(0, 4))) + field(2, dims(0, 4)))
print(ms.restore_group_info_list("groups.pb"))
ms.transform_checkpoints("src", "dst", "net", "four.ckpt", "two.ckpt")
try:
    ms.transform_checkpoint_by_rank(0, {0: "a"}, "b", "four.ckpt", "two.ckpt")
except ValueError as error:
    print(error)
'''

NET = '''

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(shape=(8, 6), dtype=ms.float32), "w")
        self.mm = ops.MatMul(transpose_b=True).shard(((4, 1), (2, 1)))

    def construct(self, x):
        return self.mm(x, self.w)


ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, full_batch=True, strategy_ckpt_save_file="cuts.ckpt",
                             enable_parallel_optimizer=True, parallel_optimizer_config={"parallel_optimizer_threshold": 0},
                             optimizer_weight_shard_size=2)
net = Net()
ms.common.api._cell_graph_executor.compile(net, Tensor(shape=(16, 6), dtype=ms.float32))
found = ms.build_searched_strategy("cuts.ckpt")["w"]
print(found.dev_matrix[0].dim[-2:], found.tensor_map[0].dim, found.opt_weight_shard_step, found.opt_weight_shard_size, ms.rank_list_for_transform(0, "cuts.ckpt"))
'''


class StrategyFiles(TraceTest):
    def test_files_are_read_and_asked(self):
        run = self.trace(READ)
        self.assertEqual(run.output.splitlines()[:16], [
            "[2, 2] [1, -1] [4, 6] 0",
            "0 four None [3, 2, 1, 0]",   # the whole weight: all four parts
            "0 four two [1, 0]",          # rows 0 to 3: parts 0 and 1
            "3 four two [3, 2]",          # rows 4 to 7
            "2 two four [2]",             # rows 4 and 5, held by ranks 2 and 3: the rank itself
            "3 whole four [3]",
            "1 optimizer whole [3, 2, 1, 0]",
            "1 optimizer two [1, 0]",
            "3 columns four [3, 2]",      # both columns of the rows, from the rank's own half of the devices
            # What MindSpore 2.10 answers for these files: its plans gather the whole weight, or every other rank's part.
            "1 four pairs [3, 2, 1, 0]", "3 inner pairs [3, 2, 1, 0]", "5 pairs inner [7, 5, 3, 1]",
            "2 shards four [7, 6, 5, 4, 3, 2, 1, 0]",
            "['0-w', '1-v'] [3, 2, 1, 0]",  # two stages of two ranks
            "[1, 0]", "[0, 4]"])
        self.assertIn("needs the checkpoints of ranks [0, 1], and those of [1]", run.output)

    def test_a_compile_in_a_script_writes_its_cuts(self):
        run = self.trace(WRITE + NET)
        # The weight lies in 2 parts on the inner axis of the devices and its states in 2 again: rows 8 / 2 / 2. One rank that
        # holds all of it needs the parts of ranks 0 to 3.
        self.assertTrue(run.output.splitlines()[-1].endswith(" [3, 2, 1, 0]"), run.output)

    def test_bad_files_are_one_clear_error_each(self):
        for name, data, wanted in (("gone.ckpt", None, "there is no strategy file"), ("bad.ckpt", "b'\\x12\\xff'", "is not a strategy file"),
                                   ("bad.json", "b'[1]'", "is not a strategy file"), ("long.ckpt", "b'\\x12\\x7fabc'", "is not a strategy file")):
            script = "import mindspore as ms\n" + ("open(%r, 'wb').write(%s)\n" % (name, data) if data else "")
            error = self.error(script + "ms.build_searched_strategy(%r)\n" % name)
            self.assertIn(wanted, error["message"])


if __name__ == "__main__":
    unittest.main()
