"""Settings that reach the job: how kernels are made and ordered, environment, steps; refusals with their line."""
import unittest

from helper import TraceTest

NET = """
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor
from mindspore.communication import init
row = Tensor(shape=(16, 16), dtype=ms.float32)
def made():
    net = nn.Dense(16, 16)
    return net, nn.Momentum(net.trainable_params(), 0.1, 0.9)
def trained(*settings):
    net, opt = made()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), opt)
    step.set_train()
    return step
"""
FIRST = NET.count("\n") + 1


def limits(run):
    return run.warnings_of("limit")


class Compilation(TraceTest):
    def job(self, source, **settings):
        return self.trace(NET + source, **settings).documents[0]["job"]

    def test_strategies_of_a_script_are_pinned_by_an_environment_variable(self):
        # The recursive search is the default; it leaves a script's strategies only if the variable is 1.
        set_up = "init()\nms.set_auto_parallel_context(parallel_mode='auto_parallel')\n"
        self.assertEqual(self.job(set_up + "trained()(row, row)\n")["search_mode"], "recursive_programming")
        for value, pins in (("1", True), ("0", False)):
            self.assertEqual(self.job("import os\nos.environ['MS_INTERFERED_SAPP'] = '%s'\n" % value + set_up + "trained()(row, row)\n")["pins_strategies"], pins)

    def test_levels_of_the_context(self):
        for line, level in (("", "O0"), ("ms.set_context(jit_level='O1')\n", "O1"), ("ms.set_context(jit_level='O0')\n", "O0"),
                            ("ms.set_context(jit_config={'jit_level': 'O1'})\n", "O1")):
            self.assertEqual(self.job(line + "trained()(row, row)\n")["jit_level"], level, line)

    def test_memory_that_is_planned_beforehand(self):
        self.assertEqual(self.job("trained()(row, row)\n")["alloc_conf"], "")
        for line in ("ms.set_context(memory_optimize_level='O1')\n", "ms.runtime.set_memory(optimize_level='O1')\n"):
            self.assertEqual(self.job(line + "trained()(row, row)\n")["alloc_conf"], "memory_optimize_level:O1", line)

    def test_settings_of_the_outermost_cell_win(self):
        source = """
step = trained()
step.set_jit_config(ms.JitConfig(jit_level="O1", exec_order="dfs"))
step(row, row)
"""
        job = self.job("ms.set_context(jit_level='O0')\n" + source)
        self.assertEqual((job["jit_level"], job["exec_order"]), ("O1", "dfs"))

    def test_settings_of_a_network_in_a_model_and_of_a_function(self):
        job = self.job("net, opt = made()\nnet.set_jit_config(ms.JitConfig(jit_level='O1'))\n"
                       "ms.Model(net, nn.MSELoss(), opt).train(1, [(row, row)])\n")
        self.assertEqual(job["jit_level"], "O1")
        job = self.job("@ms.jit(jit_level='O1', exec_order='dfs')\ndef f(x):\n    return ops.relu(x)\nf(row)\n")
        self.assertEqual((job["jit_level"], job["exec_order"]), ("O1", "dfs"))

    def test_order_of_the_context(self):
        self.assertEqual(self.job("trained()(row, row)\n")["exec_order"], "bfs")
        self.assertEqual(self.job("ms.set_context(exec_order='dfs')\ntrained()(row, row)\n")["exec_order"], "dfs")

    def speed_up(self, text, name="fast.json"):
        return NET + "open('fast.json', 'w').write('%s')\nms.set_context(ascend_config={'parallel_speed_up_json_path': '%s'})\n" % (text, name)

    def test_options_of_a_speed_up_file_can_be_asked_for(self):
        run = self.trace(self.speed_up('{"dataset_broadcast_opt_level": 3, "matmul_grad_comm_overlap": true}')
                         + "assert ms.get_context('dataset_broadcast_opt_level') == 3\ntrained()(row, row)\n")
        told = [text for text in limits(run) if "parallel_speed_up_json_path" in text]
        self.assertEqual(len(told), 1, told)
        self.assertIn("matmul_grad_comm_overlap", told[0])

    def test_options_of_a_speed_up_file_that_do_not_exist(self):
        for text, name, words in (('{"matmul_grad_comm_overlp": true}', "fast.json", "matmul_grad_comm_overlp"),
                                  ("{}", "none.json", "there is no file 'none.json'"), ("[1]", "fast.json", "an object"),
                                  ('{"enable_task_opt": 1}', "fast.json", "must be bool")):
            self.assertIn(words, self.error(self.speed_up(text, name))["message"])

    def test_unknown_values_are_refused(self):
        for line in ("ms.set_context(jit_level='O9')", "ms.set_context(exec_order='random')",
                     "ms.set_context(jit_config={'jit_levle': 'O1'})", "ms.set_context(jit_config={'jit_level': 'fast'})",
                     "ms.JitConfig(jit_level='O9')", "ms.JitConfig(exec_order='x')", "ms.jit(jit_level='O9')",
                     "ms.jit(backend='tvm')", "ms.set_context(memory_offload='SOME')"):
            error = self.error(NET + line + "\n")
            self.assertEqual((error["type"], error["place"]["line"]), ("ValueError", FIRST), line)

    def test_what_is_not_followed_is_counted(self):
        for line in ("ms.set_context(jit_level='O2')", "ms.set_context(memory_offload='ON')",
                     "ms.set_context(enable_graph_kernel=True)", "ms.JitConfig(jit_level='O2')", "ms.jit(backend='GE')"):
            run = self.trace(NET + line + "\ntrained()(row, row)\n")
            self.assertEqual(len(limits(run)), 1, line)
            self.assertIn("net.py:%d" % FIRST, limits(run)[0])
            self.assertEqual(run.documents[0]["job"]["jit_level"], "O0")


class Environment(TraceTest):
    def run_with(self, **variables):
        return self.trace(NET + "trained()(row, row)\n", environment=variables)

    def test_graph_dumps(self):
        job = self.run_with(MS_DEV_SAVE_GRAPHS="2", MS_DEV_SAVE_GRAPHS_PATH="/tmp/ir").documents[0]["job"]
        self.assertEqual((job["save_graphs"], job["save_graphs_path"]), (2, "/tmp/ir"))

    def test_memory_tracker(self):
        run = self.run_with(MS_ALLOC_CONF="memory_tracker:True,memory_tracker_path:/tmp/t")
        self.assertEqual(run.documents[0]["job"]["alloc_conf"], "memory_tracker:True,memory_tracker_path:/tmp/t")
        self.assertEqual(limits(run), [])

    def test_other_pools_are_counted(self):
        self.assertEqual(len(limits(self.run_with(MS_ALLOC_CONF="enable_vmm:True"))), 1)
        self.assertEqual(limits(self.run_with(MS_ALLOC_CONF="enable_vmm:False")), [])

    def test_unknown_values_are_refused(self):
        for variables in ({"MS_DEV_SAVE_GRAPHS": "4"}, {"MS_ALLOC_CONF": "memory_trakcer:True"}):
            error = self.error(NET + "trained()(row, row)\n", environment=variables)
            self.assertEqual(error["family"], "user", variables)
            self.assertIn(list(variables)[0], error["message"])


class Steps(TraceTest):
    def steps(self, source):
        job = self.trace(NET + source).documents[0]["job"]
        return job["steps"], job["data_sink"]

    DATA = "data = ds.GeneratorDataset([(row, row)] * 6, ['x', 'y'])\n"

    def test_calls_are_counted(self):
        self.assertEqual(self.steps("trained()(row, row)\n"), (1, False))
        self.assertEqual(self.steps("step = trained()\nfor _ in range(5):\n    step(row, row)\n"), (5, False))

    def test_rows_of_a_data_set_stand_for_all_of_them(self):
        source = self.DATA + "step = trained()\nfor epoch in range(3):\n    for x, y in data.create_tuple_iterator():\n" \
                             "        step(x, y)\n"
        self.assertEqual(self.steps(source), (18, False))

    def test_model(self):
        model = self.DATA + "net, opt = made()\nmodel = ms.Model(net, nn.MSELoss(), opt)\n"
        self.assertEqual(self.steps(model + "model.train(1, data)\n"), (6, False))
        self.assertEqual(self.steps(model + "model.train(4, data, initial_epoch=1)\n"), (18, False))
        # With a queue on the device, one launch runs all steps of an epoch.
        self.assertEqual(self.steps(model + "model.train(2, data, dataset_sink_mode=True)\n"), (2, True))
        self.assertEqual(self.steps(model + "model.train(3, data, dataset_sink_mode=True, sink_size=2)\n"), (3, True))
        self.assertEqual(self.steps("ms.set_context(device_target='CPU')\n" + model +
                                    "model.train(1, data, dataset_sink_mode=True)\n"), (6, False))

    def test_data_sink(self):
        self.assertEqual(self.steps(self.DATA + "sunk = ms.data_sink(trained(), data, sink_size=4)\nsunk()\nsunk()\n"),
                         (8, True))


class Refused(TraceTest):
    HEAD = NET + "init()\n"

    def test_devices_without_a_communication_library(self):
        error = self.error(self.HEAD + "ms.set_context(device_target='CPU')\n"
                           "ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel')\ntrained()(row, row)\n")
        self.assertEqual(error["type"], "RuntimeError")

    def test_init_that_is_forgotten(self):
        """MindSpore asks the communication library for the number of devices, which says 1 before init()."""
        cut = "net.matmul.shard(((2, 4), (4, 1)))\n"
        script = NET + "ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel'%s)\nnet = nn.Dense(16, 16)\n%snet(row)\n"
        error = self.error(script % ("", cut))
        self.assertEqual((error["reason"], error["place"]["line"]), ("context:no-init", FIRST + 3))
        self.assertIn("init()", error["hint"])
        for setting in ("pipeline_stages=2", "dataset_strategy=((8, 1),)"):
            self.assertEqual(self.error(script % (", " + setting, ""))["reason"], "context:no-init")
        self.trace(script % (", device_num=8", cut))  # who says how many devices there are is not asked

    def test_init_that_is_forgotten_where_nothing_is_cut(self):
        """One device it is, for every rank: MindSpore's own dry run of such a step has no collective."""
        script = NET + "ms.set_auto_parallel_context(parallel_mode='%s', full_batch=True, enable_parallel_optimizer=True)\n" \
            "trained()(row, row)\n"
        for mode in ("semi_auto_parallel", "auto_parallel"):
            run = self.trace(script % mode)
            job = run.documents[0]["job"]
            self.assertEqual((job["mode"], job["world_size"], job["enable_parallel_optimizer"]), ("stand_alone", 8, False))
            self.assertEqual((len(run.warnings_of("no-init")), len(run.warnings)), (1, 1))


if __name__ == "__main__":
    unittest.main()
