"""Columns and rows of TFRecord files, and what a schema says of them."""
import unittest

from helper import TraceTest

# Files as tensorflow writes them; checksums are not looked at and stay zero.
HEAD = """
import mindspore as ms, mindspore.dataset as ds, gzip, json, struct, zlib
def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content
def row(columns):
    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, value)) for name, value in columns.items()))
def whole(count):
    return field(3, field(1, b"".join(varint(300) for _ in range(count))))
def floats(count):
    return field(2, field(1, bytes(4 * count)))
def text(value):
    return field(1, field(1, value))
def records(count, columns):
    data = row(columns)
    return (struct.pack("<QI", len(data), 0) + data + bytes(4)) * count
COLUMNS = {"ids": whole(16), "half": floats(6), "name": text(b"abcd")}
def write(path, count, change=lambda data: data):
    with open(path, "wb") as file:
        file.write(change(records(count, COLUMNS)))
def show(data):
    print("DATA", data.get_col_names(), data.output_shapes(), [str(kind) for kind in data.output_types()], data.get_dataset_size())
class Net(ms.nn.Cell):
    def construct(self, x):
        return ms.ops.cast(x, ms.float32) * 2
def feed(data, name="ids"):
    for one in data.create_dict_iterator():
        Net()(one[name])
write("a.tfrecord", 12); write("b.tfrecord", 7)
"""


class Files(TraceTest):
    def shown(self, source):
        run = self.trace(HEAD + source + "\nfeed(ds.TFRecordDataset('a.tfrecord').batch(4))")
        return run.output.split("DATA ")[1].split("\n")[0]

    def test_first_row_says_the_columns(self):
        self.assertEqual(self.shown("show(ds.TFRecordDataset('a.tfrecord'))"),
                         "['half', 'ids', 'name'] [[6], [16], [4]] ['Float32', 'Int64', 'UInt8'] 12")

    def test_network_sees_the_batch(self):
        run = self.trace(HEAD + "feed(ds.TFRecordDataset('*.tfrecord', columns_list=['ids']).batch(5))")
        self.assertEqual(run.documents[0]["inputs"][0]["shape"], [5, 16])

    def test_schema_says_types_and_shapes(self):
        schema = "s = ds.Schema(); s.add_column('half', ms.float32, [2, -1]); s.add_column('ids', ms.int32)\n"
        self.assertEqual(self.shown(schema + "show(ds.TFRecordDataset(['a.tfrecord', 'b.tfrecord'], s))"),
                         "['half', 'ids'] [[2, 3], [16]] ['Float32', 'Int32'] 19")
        schema = ("open('s.json', 'w').write(json.dumps({'datasetType': 'TF', 'numRows': 9, 'columns': {'ids': "
                  "{'type': 'int64', 'rank': 2, 'shape': [4, 4]}}}))\n")
        self.assertEqual(self.shown(schema + "show(ds.TFRecordDataset('a.tfrecord', 's.json'))"), "['ids'] [[4, 4]] ['Int64'] 9")

    def test_ranks_take_files_or_rows(self):
        both = "show(ds.TFRecordDataset(['a.tfrecord', 'b.tfrecord'], columns_list=['ids'], num_shards=2, shard_id=0%s))"
        for how, rows in (("", 12), (", shard_equal_rows=True", 10), (", num_samples=3", 3)):  # a file; half of 19 rows
            self.assertTrue(self.shown(both % how).endswith(" %d" % rows))

    def test_compressed_files(self):
        for kind, change in (("GZIP", "gzip.compress"), ("ZLIB", "zlib.compress")):
            self.assertTrue(self.shown("write('c.tfrecord', 5, %s)\nshow(ds.TFRecordDataset('c.tfrecord', "
                                       "compression_type='%s'))" % (change, kind)).endswith(" 5"))

    def test_text_declares_the_columns_of_a_file_to_come(self):
        run = self.trace(HEAD + """
open("a.tfrecord", "w").write('{"rows": 64, "columns": {"ids": {"type": "int32", "shape": [4097]}}}')
feed(ds.TFRecordDataset("a.tfrecord").batch(8))
""")
        self.assertEqual(run.documents[0]["inputs"][0]["shape"], [8, 4097])


class Refused(TraceTest):
    def test_missing_file_is_our_limit_with_a_remedy(self):
        error = self.error(HEAD + "feed(ds.TFRecordDataset('none.tfrecord'))")
        self.assertEqual(error["family"], "unsupported")
        self.assertIn('"columns"', error["hint"])

    def test_files_that_are_none_or_are_cut_off(self):
        # What is left of a file of two rows is a file of one row, or none; a byte that is another one is found or does no harm.
        error = self.error(HEAD + """
whole_file = records(2, COLUMNS)
for length in range(len(whole_file)):
    open("cut", "wb").write(whole_file[:length])
    try:
        assert ds.TFRecordDataset("cut").get_dataset_size() == 1 and length == len(whole_file) // 2, length
    except RuntimeError as error:
        assert "no TFRecord file" in str(error), error
for at in range(len(whole_file)):
    open("cut", "wb").write(whole_file[:at] + bytes([whole_file[at] ^ 255]) + whole_file[at + 1:])
    try:
        ds.TFRecordDataset("cut").output_shapes()
    except RuntimeError as error:
        assert "no TFRecord file" in str(error), error
ds.TFRecordDataset("a.tfrecord", columns_list=["idx"])
""")
        self.assertEqual((error["family"], error["reason"]), ("user", "TFRecordDataset:unknown-column"))
        self.assertIn("ids", error["hint"])

    def test_schemas_that_do_not_fit(self):
        for add, word in (("'ids', ms.float32, [16]", "declare it int8 or int16 or int32"), ("'ids', ms.int64, [15]", "declare shape [16]"),
                          ("'half', ms.float32, [4, -1]", "declare shape [6]")):
            with self.subTest(add):
                error = self.error(HEAD + "s = ds.Schema(); s.add_column(%s)\nds.TFRecordDataset('a.tfrecord', s)" % add)
                self.assertEqual((error["family"], error["hint"]), ("user", word))

    def test_texts_that_are_no_schema(self):
        error = self.error(HEAD + """
for text in ("[]", "{}", '{"columns": []}', '{"columns": {"ids": {"shape": [3]}}}', '{"columns": {"ids": 3}}', "no json",
             '{"numRows": "x", "columns": {"ids": {"type": "int64"}}}'):
    open("s.json", "w").write(text)
    try:
        ds.Schema("s.json")
    except RuntimeError as error:
        assert error.drydock_reason == "Schema:form", error
    else:
        raise SystemError(text)
ds.Schema("none.json")
""")
        self.assertEqual((error["family"], error["reason"]), ("user", "Schema:file"))


if __name__ == "__main__":
    unittest.main()
