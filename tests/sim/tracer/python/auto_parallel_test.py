"""AutoParallel(net): its settings hold for the whole step, whoever calls it; what is not followed is counted."""
import unittest

from helper import TraceTest

NET = """
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.communication import init
from mindspore.parallel.auto_parallel import AutoParallel
ms.set_context(mode=ms.GRAPH_MODE)
init()

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(shape=(16, 16), dtype=ms.float32), name="w")
        self.mm = ops.MatMul().shard(((2, 4), (4, 1)))
    def construct(self, x):
        return self.mm(x, self.w)

net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
row = Tensor(shape=(16, 16), dtype=ms.float32)
data = [(row, row)]
"""


def job(run, program=0):
    return run.documents[program]["job"]


def limits(run):
    return run.warnings_of("limit")


class InModel(TraceTest):
    def test_settings_hold_in_train(self):
        run = self.trace(NET + """
parallel = AutoParallel(net)
parallel.dataset_strategy("full_batch")
parallel.enable_gradients_mean()
ms.Model(parallel, nn.MSELoss(), opt).train(1, data)
""")
        self.assertEqual(job(run)["mode"], "semi_auto_parallel")
        self.assertEqual(job(run)["dataset_strategy"], "full_batch")
        self.assertIs(job(run)["gradients_mean"], True)
        self.assertEqual(limits(run), [])

    def test_records_the_same_as_around_the_step_and_as_the_context(self):
        model = self.trace(NET + "p = AutoParallel(net)\np.dataset_strategy('full_batch')\n"
                           "ms.Model(p, nn.MSELoss(), opt).train(1, data)\n")
        step = self.trace(NET + "step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), opt).set_train()\n"
                          "p = AutoParallel(step)\np.dataset_strategy('full_batch')\np(row, row)\n")
        context = self.trace(NET + "ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel', full_batch=True, "
                             "enable_alltoall=True)\nms.Model(net, nn.MSELoss(), opt).train(1, data)\n")
        self.assertEqual(self.ops(model), self.ops(step))
        self.assertEqual(self.ops(model), self.ops(context))
        self.assertEqual(job(model)["mode"], job(step)["mode"])
        self.assertEqual(job(model), job(context))

    def test_evaluation_and_prediction_too(self):
        run = self.trace(NET + """
parallel = AutoParallel(net)
model = ms.Model(parallel, nn.MSELoss(), opt, metrics={"loss"})
model.eval(data)
model.predict(row)
""")
        self.assertEqual({document["job"]["mode"] for document in run.documents}, {"semi_auto_parallel"})

    def test_fit_and_build_keep_the_settings_for_both_networks(self):
        for call in ("fit(1, data, data)", "build(data, data)"):
            run = self.trace(NET + "ms.Model(AutoParallel(net), nn.MSELoss(), opt, metrics={'loss'})." + call + "\n")
            self.assertEqual([document["job"]["mode"] for document in run.documents], ["semi_auto_parallel"] * 2, call)

    def test_settings_end_with_the_call(self):
        run = self.trace(NET + """
ms.Model(AutoParallel(net), nn.MSELoss(), opt).train(1, data)
nn.Dense(4, 4)(Tensor(shape=(4, 4), dtype=ms.float32))
print("MODE", ms.get_auto_parallel_context("parallel_mode"))
""")
        self.assertEqual(job(run, 1)["mode"], "stand_alone")
        self.assertIn("MODE stand_alone", run.output)

    def test_settings_end_with_a_call_that_fails(self):
        run = self.trace(NET + """
try:
    ms.Model(AutoParallel(net), nn.MSELoss(), opt).train(1, [])
except ValueError:
    print("MODE", ms.get_auto_parallel_context("parallel_mode"))
net(row)
""")
        self.assertIn("MODE stand_alone", run.output)

    def test_context_does_not_show_through(self):
        run = self.trace(NET + """
ms.set_auto_parallel_context(gradients_mean=True, loss_repeated_mean=False, pipeline_stages=2)
ms.Model(AutoParallel(net), nn.MSELoss(), opt).train(1, data)
""")
        self.assertIs(job(run)["gradients_mean"], False)
        self.assertIs(job(run)["loss_repeated_mean"], True)
        self.assertEqual(job(run)["pipeline_stages"], 1)

    def test_a_part_of_a_called_step_is_said_to_have_no_effect(self):
        run = self.trace(NET + "step = nn.TrainOneStepCell(nn.WithLossCell(AutoParallel(net), nn.MSELoss()), opt)\n"
                         "step(row, row)\n")
        self.assertEqual(job(run)["mode"], "stand_alone")
        self.assertTrue(any("AutoParallel" in text for text in run.warnings))


class Methods(TraceTest):
    REFUSED = {"dataset_strategy('half')": "ValueError", "dataset_strategy(3)": "TypeError",
               "dataset_strategy(((1, 'a'),))": "TypeError", "hsdp(threshold=-1)": "ValueError",
               "hsdp(optimizer_level='level4')": "ValueError", "pipeline(0)": "ValueError",
               "pipeline(2, output_broadcast=1)": "TypeError", "pipeline(2, scheduler='fast')": "ValueError",
               "comm_fusion([1])": "TypeError", "comm_fusion({'allreduce': {'mode': 'size', 'config': -1}})": "ValueError",
               "load_param_strategy_file(1)": "TypeError", "set_group_ckpt_save_file(1)": "TypeError"}

    def test_wrong_arguments_are_refused_where_they_are_given(self):
        for call, kind in self.REFUSED.items():
            error = self.error(NET + "p = AutoParallel(net)\np.%s\n" % call)
            self.assertEqual((error["type"], error["place"]["line"]), (kind, NET.count("\n") + 2), call)

    def test_what_is_not_followed_is_counted_with_its_line(self):
        for call in ("load_param_strategy_file('/tmp/s.ckpt')", "enable_fp32_communication()", "print_local_norm()",
                     "enable_device_local_norm()"):
            run = self.trace(NET + "p = AutoParallel(net)\np.%s\nms.Model(p, nn.MSELoss(), opt).train(1, data)\n" % call)
            self.assertEqual(len(limits(run)), 1, call)
            self.assertIn("net.py:%d" % (NET.count("\n") + 2), limits(run)[0])

    def test_the_same_in_the_context(self):
        for setting in ("strategy_ckpt_load_file='/tmp/s.ckpt'", "force_fp32_communication=True",
                        "strategy_ckpt_config={'load_file': '/tmp/s.ckpt'}", "parameter_broadcast=True",
                        "communi_parallel_mode='no_group_parallel'"):
            run = self.trace(NET + "ms.set_auto_parallel_context(%s)\nnet(row)\n" % setting)
            self.assertEqual(len(limits(run)), 1, setting)

    def test_files_that_are_not_written_are_no_limit(self):
        run = self.trace(NET + "p = AutoParallel(net)\np.save_param_strategy_file('/tmp/s.ckpt')\np(row)\n")
        self.assertEqual(limits(run), [])
        self.assertTrue(any("strategy_ckpt_save_file" in text for text in run.warnings))


class NotModelled(TraceTest):
    def test_offload_is_counted(self):
        for line in ("net.offload()", "net.mm._offload()"):
            run = self.trace(NET + line + "\nnet(row)\n")
            self.assertEqual(len(limits(run)), 1, line)
            self.assertIn("net.py:%d" % (NET.count("\n") + 1), limits(run)[0])

    def test_switched_off_they_are_not(self):
        run = self.trace(NET + "net.mm.recompute(False)\nfrom mindspore.parallel.nn import GradAccumulation\n"
                         "GradAccumulation(net, 1)\nnet(row)\n")
        self.assertEqual(limits(run), [])

    def test_cells_of_other_processes_are_unsupported(self):
        error = self.error(NET + "net.place('MS_WORKER', 1)\nnet(row)\n")
        self.assertEqual((error["family"], error["place"]["line"]), ("unsupported", NET.count("\n") + 1))


if __name__ == "__main__":
    unittest.main()
