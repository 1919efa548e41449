"""Graph files that are damaged, wrong or hostile: an error with a place, bounded time and memory."""

import random
import resource

import command

MODEL = (command.EXAMPLES / "graph/mlp.json").read_text(encoding="utf-8")
NESTING = 100 * 1000 * 1000  # characters


def line_of(part):
    return 1 + MODEL[:MODEL.index(part)].count("\n")


class BadGraphTest(command.CommandTest):
    def reject(self, content, pattern, status=6):
        self.write("model.json", content)
        run = self.msrun("--log_dir=out", "model.json")
        self.assert_rejected(run, status)
        self.assertRegex(run.errors()[0], pattern)
        return run

    def change(self, old, new):
        self.assertIn(old, MODEL)
        return MODEL.replace(old, new)

    def test_example_is_fine(self):
        self.write("model.json", MODEL)
        self.assert_accepted(self.msrun("model.json"))

    def test_truncated(self):
        self.reject(MODEL[:len(MODEL) // 2], r"^model\.json:\d+:\d+: error: this is not JSON")

    def test_truncated_anywhere(self):
        seed = 7
        for cut in random.Random(seed).sample(range(1, len(MODEL.rstrip()) - 1), 8):
            with self.subTest(cut=cut, seed=seed):
                self.reject(MODEL[:cut], r"^model\.json:\d+:\d+: error: ")

    def test_empty(self):
        self.reject("", r"^model\.json:1:1: error: ")

    def test_binary(self):
        # Escape sequences must not reach the terminal.
        run = self.reject(b"\x7fELF\x00\x1b[31m\xff\xfe\x9b" * 100, r"^model\.json:1:1: error: ")
        self.assertNotIn("\x1b", run.err)
        self.assertNotIn("\x00", run.err)

    def test_escape_sequence_in_a_name(self):
        run = self.reject(self.change('"name": "mlp"', '"n\\u001b[31m": "mlp"'), r"^model\.json:3:\d+: error: ")
        self.assertNotIn("\x1b", run.err)

    def test_undefined_name(self):
        self.reject(self.change('"inputs": ["hidden", ', '"inputs": ["hiden", '),
                    r"^model\.json:%d:\d+: error: .*'hiden'" % line_of('"inputs": ["hidden", '))

    def test_cycle(self):
        self.reject(self.change('"inputs": ["MatMul0"]', '"inputs": ["logits"]'),
                    r"^model\.json:%d:\d+: error: .*'logits'.*cycle" % line_of('"inputs": ["MatMul0"]'))

    def test_duplicate_name(self):
        self.reject(self.change('"outputs": ["logits"]', '"outputs": ["hidden"]'),
                    r"^model\.json:%d:\d+: error: .*'hidden'.*line %d" %
                    (line_of('"outputs": ["logits"]'), line_of('"outputs": ["hidden"]')))

    def test_duplicate_parameter(self):
        self.reject(self.change('"name": "fc2.weight"', '"name": "fc1.weight"'),
                    r"^model\.json:%d:\d+: error: .*'fc1\.weight'" % line_of('"name": "fc2.weight"'))

    def test_size_beyond_64_bits(self):
        # 2^62 * 64 elements.
        self.reject(self.change('"name": "fc1.weight", "shape": [32, 64]',
                                '"name": "fc1.weight", "shape": [4611686018427387904, 64]'),
                    r"^model\.json:%d:\d+: error: .*64 bits" % line_of('"name": "fc1.weight"'))

    def test_global_size_beyond_64_bits(self):
        # 2^60 rows per rank on 8 ranks, 32 floats each.
        self.reject(self.change('"name": "x", "shape": [2, 32]', '"name": "x", "shape": [1152921504606846976, 32]'),
                    r"^model\.json:%d:\d+: error: " % line_of('"name": "x"'))

    def test_number_beyond_64_bits(self):
        self.reject(self.change('"shape": [64, 16]', '"shape": [99999999999999999999999, 16]'),
                    r"^model\.json:%d:\d+: error: .*64 bits" % line_of('"shape": [64, 16]'))

    def test_negative_size(self):
        self.reject(self.change('"shape": [2, 16]', '"shape": [2, -16]'),
                    r"^model\.json:%d:\d+: error: .*-16" % line_of('"shape": [2, 16]'))

    def test_unknown_field_of_the_document(self):
        self.reject(self.change('"name": "mlp"', '"name": "mlp", "colour": 1'), r"^model\.json:3:\d+: error: .*'colour'")

    def test_unknown_field_of_a_node(self):
        run = self.reject(self.change('"scope": "Default/loss"', '"scop": "Default/loss"'),
                          r"^model\.json:%d:\d+: error: .*'scop'" % line_of('"scope": "Default/loss"'))
        self.assertIn("'scope'", run.hint())

    def test_newer_version(self):
        self.reject(self.change("drydock.graph/1", "drydock.graph/99"), r"^model\.json:2:\d+: error: .*drydock\.graph/99")

    def test_other_kind_of_document(self):
        for text in ("[]", "3", '"text"', "null", "{}"):
            with self.subTest(text=text):
                self.reject(text, r"^model\.json:\d+:\d+: error: ")


class DeepNestingTest(command.CommandTest):
    def check(self, start, unit):
        with open(self.folder / "model.json", "w", encoding="ascii") as file:
            file.write(start)
            for _ in range(100):
                file.write(unit * (NESTING // 100 // len(unit)))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = self.msrun("--log_dir=out", "model.json")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assert_rejected(run, 6)
        self.assertRegex(run.errors()[0], r"^model\.json:1:\d+: error: .*nested")
        self.assertLess(len(run.err), 4096)
        # Processor time, whatever else the machine does.
        self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 10)
        # The largest child of this process so far, KiB.
        self.assertLess(after.ru_maxrss, 1024 * 1024)

    def test_lists(self):
        self.check("", "[")

    def test_lists_in_a_known_field(self):
        self.check('{"schema": "drydock.graph/1", "nodes": ', "[")

    def test_objects(self):
        self.check("", '{"a":')

    def test_one_endless_word(self):
        with open(self.folder / "model.json", "w", encoding="ascii") as file:
            file.write('{"schema": "')
            file.write("a" * (NESTING // 10))
        run = self.msrun("--log_dir=out", "model.json")
        self.assert_rejected(run, 6)
        self.assertLess(len(run.err), 4096)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 1024 * 1024)
