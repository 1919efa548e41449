"""Jobs cut in a way that cannot be: one diagnostic with a line of the script, and a remedy that works when tried.

The network is two linear layers, one per pipeline stage, on 8 ranks; 24 rows in 4 micro batches.
"""

import re

import command

SCRIPT = '''import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
from mindspore.communication import init
from mindspore.train import Model
import mindspore.dataset as ds
ms.set_context(mode=ms.GRAPH_MODE)
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=2)
class Layer(nn.Cell):
    def __init__(self, name):
        super().__init__()
        self.w = Parameter(Tensor([[0.5] * 16] * 16, ms.float32), name)
        self.mm = ops.MatMul()
    def construct(self, x):
        return self.mm(x, self.w)
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = Layer("a")
        self.second = Layer("b")
        self.first.pipeline_stage = 0
        self.second.pipeline_stage = 1
        self.mean = ops.ReduceMean()
    def construct(self, x):
        return self.mean(self.second(self.first(x)))
def rows():
    yield Tensor([[0.5] * 16] * 24, ms.float32)
net = nn.PipelineCell(Net(), 4)
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
'''


class BadCutTest(command.CommandTest):
    def refused(self, changes, words):
        """Rejected with the words at a line of the script; the text and the hint."""
        text = SCRIPT
        for old, new in changes.items():
            self.assertIn(old, text)
            text = text.replace(old, new)
        run = self.reject(self.write("net.py", text), words, 8)
        self.assertRegex(run.errors()[0], r"^net\.py:\d+(:\d+)?: error: ", run.err)
        return text, run.hint()

    def accepted(self, text):
        self.write("net.py", text)
        self.assert_accepted(self.msrun("--worker_num=8", "net.py"))

    def follow(self, changes, words, old, remedy):
        """Tries what the hint says: the first group of `remedy` in place of what `old` matches."""
        text, hint = self.refused(changes, words)
        found = re.search(remedy, hint)
        self.assertTrue(found, hint)
        changed = re.sub(old, lambda match: match.group(1) + found.group(1), text)
        self.assertNotEqual(changed, text)
        self.accepted(changed)

    def test_the_job_itself(self):
        self.accepted(SCRIPT)

    def test_stage_without_cells(self):
        self.fewer_stages({"second.pipeline_stage = 1": "second.pipeline_stage = 0"}, "pipeline_stage 0 only")

    def test_no_stage_at_all(self):
        self.fewer_stages(
            {"        self.first.pipeline_stage = 0\n        self.second.pipeline_stage = 1\n": ""}, "no cell")

    def fewer_stages(self, changes, words):
        text, hint = self.refused(changes, ["pipeline_stages is 2", words])
        self.assertIn("every pipeline_stage from 0 to 1", hint)
        self.assertIn("set pipeline_stages=1 and train the network without PipelineCell", hint)
        self.accepted(text.replace("pipeline_stages=2", "pipeline_stages=1").replace("PipelineCell(Net(), 4)", "Cell()")
                      .replace("net = nn.Cell()", "net = Net()"))

    def test_data_that_flow_back(self):
        self.follow({"second.pipeline_stage = 1": "second.pipeline_stage = 0",
                     "first.pipeline_stage = 0": "first.pipeline_stage = 1",
                     "self.first(x)": "self.first(self.zero(x))",
                     "        self.mean =": "        self.zero = Layer('z')\n        self.zero.pipeline_stage = 0\n"
                                            "        self.mean ="},
                    ["'MatMul' of stage 0", "stage 1"], r"(second\.pipeline_stage = )\d+", r"pipeline_stage=(\d+)")

    def test_stage_that_is_not_there(self):
        text, hint = self.refused({"second.pipeline_stage = 1": "second.pipeline_stage = 5"},
                                  ["pipeline_stage is 5", "2 stages"])
        limit = int(re.search(r"pipeline_stage below (\d+)", hint).group(1))
        self.accepted(text.replace("pipeline_stage = 5", "pipeline_stage = %d" % (limit - 1)))

    def test_stages_of_unequal_size(self):
        self.follow({"pipeline_stages=2": "pipeline_stages=3"}, ["pipeline_stages is 3", "8 ranks"],
                    r"(pipeline_stages=)\d+", r"for instance (\d+)")

    def test_fewer_micro_batches_than_stages(self):
        self.follow({"PipelineCell(Net(), 4)": "PipelineCell(Net(), 1)"}, ["1 micro batches", "2 pipeline stages"],
                    r"(PipelineCell\(Net\(\), )\d+", r"at least (\d+) micro batches")

    def test_batch_that_micro_batches_do_not_divide(self):
        self.follow({"PipelineCell(Net(), 4)": "PipelineCell(Net(), 5)"}, ["24 rows", "5 micro batches"],
                    r"(PipelineCell\(Net\(\), )\d+", r"cut it into (\d+) micro batches")

    def test_stage_without_a_trained_parameter(self):
        text, hint = self.refused({'self.w = Parameter(Tensor([[0.5] * 16] * 16, ms.float32), name)':
                                   'self.w = Parameter(Tensor([[0.5] * 16] * 16, ms.float32), name, name != "b")'},
                                  ["stage 1", "no parameter that is trained"])
        self.assertIn("trainable parameter", hint)
        self.accepted(text.replace(', name != "b")', ")"))

    def test_first_stage_without_a_trained_parameter(self):
        # MindSpore: "Stage 0 should has at least 1 trainable parameter", also where lazy_inline lets the others have none.
        text, hint = self.refused({'self.w = Parameter(Tensor([[0.5] * 16] * 16, ms.float32), name)':
                                   'self.w = Parameter(Tensor([[0.5] * 16] * 16, ms.float32), name, name != "a")'},
                                  ["stage 0", "no parameter that is trained"])
        self.assertIn("trainable parameter", hint)
        self.accepted(text.replace(', name != "a")', ")"))

    def test_gradients_that_are_summed_nowhere(self):
        text, hint = self.refused(
            {'Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)':
             "nn.TrainOneStepCell(net, opt)(next(rows()))"}, ["'first.w'", "summed over micro batches"])
        self.assertIn("Model(net, optimizer=...)", hint)
        self.accepted(text.replace("nn.TrainOneStepCell(net, opt)(next(rows()))",
                                   'Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]))'))

    def test_fusion_that_names_an_index_twice(self):
        self.follow({"pipeline_stages=2": "pipeline_stages=2, comm_fusion={'openstate': True, 'allreduce': "
                                          "{'mode': 'index', 'config': [2, 1, 2]}}"},
                    ["comm_fusion", "ascend"], r"('config': )\[[^\]]*\]", r"in order: (\[.*?\])")

    def test_fusion_of_gathers_by_index(self):
        self.follow({"pipeline_stages=2": "pipeline_stages=2, comm_fusion={'openstate': True, 'allgather': "
                                          "{'mode': 'index', 'config': [1, 2]}}"},
                    ["'allgather'", "auto, size"], r"('allgather': )\{[^}]*\}", r"'allgather': (\{.*?\})")

    def test_level_3_without_a_shared_graph(self):
        self.follow({"pipeline_stages=2": "pipeline_stages=2, enable_parallel_optimizer=True, "
                                          "parallel_optimizer_config={'optimizer_level': 'level3'}"},
                    ["level3", "shared"], r"('optimizer_level': )'[^']*'", r"optimizer_level=('level1')")
        text = (self.folder / "net.py").read_text(encoding="utf-8").replace("'level1'", "'level3'")
        self.accepted(text.replace("class Net(nn.Cell):\n", "class Net(nn.Cell):\n    @ms.lazy_inline\n"))

    def test_numbers_of_stages_that_do_not_divide_the_ranks_are_not_proposed(self):
        four = {"pipeline_stages=2": "pipeline_stages=4", "        self.mean =": "        self.third = Layer('c')\n"
                "        self.third.pipeline_stage = 2\n        self.mean =", "self.mean(": "self.mean(self.third(",
                "first(x)))": "first(x))))"}
        _, hint = self.refused(four, ["pipeline_stages is 4", "pipeline_stage 0, 1, 2 only"])
        self.assertNotIn("pipeline_stages=3", hint)
        _, hint = self.refused({"second.pipeline_stage = 1": "second.pipeline_stage = 2"}, ["pipeline_stage is 2"])
        self.assertNotIn("pipeline_stages=3", hint)

    def told(self, text, code):
        """The diagnostic of an accepted script that has the code, if any."""
        self.write("net.py", text)
        self.assert_accepted(self.msrun("--worker_num=8", "--log_dir=out", "net.py"))
        found = [one for one in self.report("summary.json", "out")["diagnostics"] if one["code"] == code]
        return found[0] if found else None

    def test_recomputed_cell_that_writes_a_parameter(self):
        write = "        ops.assign_add(self.count, self.one)\n"
        text = SCRIPT.replace("        self.mm = ops.MatMul()\n", "        self.mm = ops.MatMul()\n        self.recompute()\n"
                              "        self.count = Parameter(Tensor(0.0, ms.float32), name + 'count', requires_grad=False)\n"
                              "        self.one = Tensor(1.0, ms.float32)\n").replace("        return self.mm", write + "        return self.mm")
        one = self.told(text, "recompute-effect")
        self.assertIn("'AssignAdd'", one["text"])
        self.assertEqual(one["place"]["file"], "net.py")
        self.assertIsNone(self.told(text.replace(write, ""), "recompute-effect"))

    def test_parameter_without_a_stage(self):
        text = SCRIPT.replace("        self.mean =", "        self.free = Parameter(Tensor([0.5] * 16, ms.float32), 'free')\n"
                              "        self.mean =").replace("self.first(x)", "self.first(x * self.free)")
        one = self.told(text, "parameter-without-stage")
        self.assertIn("'free'", one["text"])
        self.assertIsNone(self.told(text.replace("'free')", "'free', requires_grad=False)"), "parameter-without-stage"))

    def test_release_that_is_not_known(self):
        self.write("net.py", SCRIPT)
        run = self.msrun("--worker_num=8", "--compat=2.99", "net.py")
        self.assertEqual((run.status, len(run.errors())), (2, 1), run.err)
        release = re.search(r"2\.\d+(?= *$|,| or)", run.hint())
        self.assertTrue(release, run.err)
        self.assert_accepted(self.msrun("--worker_num=8", "--compat=" + release.group(), "net.py"))

    def test_script_that_fails_behind_its_network(self):
        self.write("net.py", SCRIPT + "raise RuntimeError('later')\n")
        run = self.msrun("--worker_num=8", "net.py")
        self.assert_accepted(run)
        self.assertRegex(run.err, r"failed after its network was recorded at net\.py:\d+: RuntimeError: later")

    def test_level_that_is_not_known(self):
        self.follow({"pipeline_stages=2": "pipeline_stages=2, parallel_optimizer_config={'optimizer_level': 'level4'}"},
                    ["level4"], r"('optimizer_level': )'[^']*'", r"('level\d'|level\d)")
