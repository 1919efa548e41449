"""How many rows data sets have, and what the network sees of them."""
import unittest

from helper import TraceTest

HEAD = """
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor
class Row:
    shape, dtype = (16,), "float32"  # as an array says it
"""
NET = "net = nn.Dense(16, 16)\nms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params())).train(1, data)\n"


def rows_of_first_input(run):
    return run.documents[0]["inputs"][0]["type"]["shape"] if "type" in run.documents[0]["inputs"][0] \
        else run.documents[0]["inputs"][0]["shape"]


class Sources(TraceTest):
    def shapes(self, source, batch):
        run = self.trace(HEAD + source + "data = ds.GeneratorDataset(source, ['x', 'y'])%s\n"
                         "print('SIZE', data.get_dataset_size())\n" % batch + NET)
        return run.output.split("SIZE ")[1].split()[0], rows_of_first_input(run)

    GENERATOR = """
def source():
    for _ in range(1000):
        yield Row(), Row()
"""

    def test_generator_function(self):
        # 1000 rows: 125 batches of 8; 9 of 111 and one row left.
        self.assertEqual(self.shapes(self.GENERATOR, ".batch(8)"), ("125", [8, 16]))
        self.assertEqual(self.shapes(self.GENERATOR, ".batch(111)"), ("10", [111, 16]))
        self.assertEqual(self.shapes(self.GENERATOR, ".batch(111, drop_remainder=True)"), ("9", [111, 16]))

    def test_chain_of_operations(self):
        # 1000 rows, 990 of them, twice: 1980 rows in batches of 16 are 123 and 12 rows left.
        self.assertEqual(self.shapes(self.GENERATOR, ".skip(10).repeat(2).batch(16)"), ("124", [16, 16]))
        self.assertEqual(self.shapes(self.GENERATOR, ".take(6).batch(8)"), ("1", [6, 16]))

    def test_fewer_rows_than_a_batch(self):
        self.assertEqual(self.shapes(self.GENERATOR.replace("1000", "3"), ".batch(8)"), ("1", [3, 16]))
        error = self.error(HEAD + self.GENERATOR.replace("1000", "3") +
                           "ds.GeneratorDataset(source, ['x', 'y']).batch(8, drop_remainder=True)\n")
        self.assertEqual(error["reason"], "batch:empty")

    def test_object_with_iterator_and_object_with_next(self):
        source = """
class Rows:
    def __iter__(self):
        return iter([(Row(), Row())] * 24)
source = Rows()
"""
        self.assertEqual(self.shapes(source, ".batch(8)"), ("3", [8, 16]))
        source = """
class Rows:
    left = 20
    def __iter__(self):
        return self
    def __next__(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return Row(), Row()
source = Rows()
"""
        self.assertEqual(self.shapes(source, ".batch(8)"), ("3", [8, 16]))

    def test_list(self):
        self.assertEqual(self.shapes("source = [(Row(), Row())] * 1000\n", ".batch(8)"), ("125", [8, 16]))

    def test_only_what_is_asked_for_is_pulled(self):
        run = self.trace(HEAD + """
pulled = []
def source():
    while True:
        pulled.append(1)
        yield Row(), Row()
data = ds.GeneratorDataset(source, ["x", "y"]).batch(8)
for x, y in data.create_tuple_iterator():
    nn.Dense(16, 16)(x)
print("PULLED", len(pulled))
""")
        self.assertIn("PULLED 48\n", run.output)  # 6 batches of 8: the steps after which memory has settled

    def test_endless_source_is_counted_up_to_a_limit(self):
        run = self.trace(HEAD + """
def source():
    while True:
        yield Row(), Row()
data = ds.GeneratorDataset(source, ["x", "y"])
print("SIZE", data.get_dataset_size())
nn.Dense(16, 16)(Tensor(shape=(4, 16), dtype=ms.float32))
""")
        self.assertIn("SIZE 65536\n", run.output)
        self.assertTrue(any("65536 rows or more" in text for text in run.warnings))

    def test_exception_of_the_source_is_the_script_s(self):
        error = self.error(HEAD + """
def source():
    yield Row(), Row()
    raise OSError("no such file")
ds.GeneratorDataset(source, ["x", "y"]).batch(8)
""")
        self.assertEqual((error["family"], error["type"]), ("user", "OSError"))


class Shards(TraceTest):
    def sizes(self, arguments):
        run = self.trace(HEAD + "source = [(Row(), Row())] * 1000\ndata = ds.GeneratorDataset(source, ['x', 'y'], %s)\n"
                         "print('SIZE', data.get_dataset_size())\n" % arguments +
                         "nn.Dense(16, 16)(Tensor(shape=(4, 16), dtype=ms.float32))\n")
        return run.output.split("SIZE ")[1].split()[0]

    def test_every_way_to_take_a_part(self):
        self.assertEqual(self.sizes("num_shards=8, shard_id=0"), "125")
        self.assertEqual(self.sizes("sampler=ds.DistributedSampler(8, 0)"), "125")
        self.assertEqual(self.sizes("num_samples=100"), "100")
        self.assertEqual(self.sizes("sampler=ds.SubsetSampler([1, 2, 3])"), "3")
        self.assertEqual(self.sizes("sampler=[5, 6]"), "2")


class PerBatch(TraceTest):
    def test_function_of_a_batch_gives_columns(self):
        run = self.trace(HEAD + """
def collate(x, info):
    return x, [1 for _ in x], [x[0]]
data = ds.GeneratorDataset([(Row(), Row())] * 16, ["x", "y"])
data = data.batch(8, per_batch_map=collate, input_columns=["x"], output_columns=["x", "n", "one"])
print("NAMES", data.get_col_names(), data.output_shapes())
nn.Dense(16, 16)(Tensor(shape=(4, 16), dtype=ms.float32))
""")
        self.assertIn("NAMES ['x', 'n', 'one', 'y'] [[8, 16], [8], [1, 16], [8, 16]]", run.output)


if __name__ == "__main__":
    unittest.main()
