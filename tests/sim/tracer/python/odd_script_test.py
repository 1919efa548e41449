"""Scripts that do what scripts do besides networks: patching, threads, processes, folders, other frameworks."""
import unittest

from helper import TraceTest

HEAD = """
import os, sys
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(shape=(6, 6), dtype=ms.float32), "w")
    def construct(self, x):
        return ops.matmul(x, self.w)
x = Tensor(shape=(4, 6), dtype=ms.float32)
"""


class OddScripts(TraceTest):
    def recorded(self, source):
        run = self.trace(HEAD + source)
        self.assertEqual(self.ops(run), ["MatMulExt"])
        return run

    def test_patched_methods_are_used(self):
        run = self.trace(HEAD + """
def construct(self, x):
    return ops.relu(x)
Net.construct = construct
Net()(x)
""")
        self.assertEqual(self.ops(run), ["ReLU"])

    def test_patched_print_and_redefined_names(self):
        self.recorded("print = lambda *a, **k: None\nlist = tuple\nNet()(x)\nprint('lost')\n")

    def test_exit_after_the_network(self):
        self.recorded("Net()(x)\nsys.exit(0)\n")

    def test_other_folder(self):
        self.recorded("os.makedirs('below', exist_ok=True)\nos.chdir('below')\nNet()(x)\n")

    def test_standard_input_is_empty(self):
        self.recorded("assert sys.stdin.read() == ''\nNet()(x)\n")

    def test_threads_and_processes(self):
        run = self.recorded("""
import subprocess, threading
print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], stdout=subprocess.PIPE).stdout.decode().strip())
thread = threading.Thread(target=lambda: print("beside"))
thread.start()
thread.join()
Net()(x)
threading.Thread(target=lambda: __import__("time").sleep(3600), daemon=False).start()
""")
        self.assertIn("42", run.output)
        self.assertIn("beside", run.output)

    def test_exit_handlers_and_hooks_do_not_matter(self):
        self.recorded("""
import atexit
atexit.register(lambda: os.kill(os.getpid(), 9))
sys.excepthook = lambda *a: None
Net()(x)
""")

    def test_another_framework_beside(self):
        self.recorded("""
import types
torch = types.ModuleType("torch")
torch.Tensor = type("Tensor", (), {})
sys.modules["torch"] = torch
import torch
assert not isinstance(x, torch.Tensor)
Net()(x)
""")

    def test_values_of_a_finished_program_feed_the_next(self):
        run = self.trace(HEAD + "y = Net()(x)\nz = Net()(y)\nprint(float(z.asnumpy().sum()) if hasattr(z.asnumpy(), 'sum') else 0)\n")
        self.assertTrue(run.documents)

    def test_other_object_as_operand_is_a_type_error(self):
        error = self.error(HEAD + "class Odd(nn.Cell):\n    def construct(self, x):\n        return ops.relu(object())\nOdd()(x)\n")
        self.assertEqual((error["family"], error["type"]), ("user", "TypeError"))


    def test_both_frameworks_and_numpy_like_modules(self):
        # A real torch beside it would look up attributes of every module that is loaded.
        self.recorded("""
for module in list(sys.modules.values()):
    getattr(module, "__warningregistry__", None), getattr(module, "__path__", None), getattr(module, "__file__", None)
Net()(x)
""")

    def test_network_called_from_a_thread(self):
        self.recorded("""
import threading
thread = threading.Thread(target=lambda: Net()(x))
thread.start()
thread.join()
""")

    def test_forked_process_leaves_the_recording_alone(self):
        self.recorded("""
Net()(x)
child = os.fork()
if child == 0:
    ops.relu(x)
    os._exit(3)
assert os.waitpid(child, 0)[1] >> 8 == 3
""")

    def test_standard_streams_that_are_closed(self):
        self.recorded("sys.stdin.close()\nsys.stdout.close()\nNet()(x)\n")

    def test_folder_that_is_gone(self):
        self.recorded("""
import tempfile
folder = tempfile.mkdtemp()
os.chdir(folder)
os.rmdir(folder)
Net()(x)
""")

    def test_input_function_says_that_there_is_none(self):
        error = self.error(HEAD + "answer = input('how many? ')\nNet()(x)\n")
        self.assertEqual((error["family"], error["type"], error["place"]["line"]), ("user", "EOFError", 12))
        self.assertIn("standard input", error["hint"])

    def test_result_of_a_finished_network_used_inside_of_another(self):
        run = self.trace(HEAD + """
kept = []
class Keeps(nn.Cell):
    def construct(self, x):
        y = ops.relu(x)
        kept.append(y)
        return y
Keeps()(x)
class Uses(nn.Cell):
    def construct(self, x):
        return ops.add(kept[0], x)
Uses()(Tensor(shape=(4, 6), dtype=ms.float32))
""")
        self.assertTrue(run.documents)


class RankDependence(TraceTest):
    def covered(self, source, ranks=16):
        run = self.trace(HEAD + "from mindspore.communication import get_rank, get_local_rank\n" + source, ranks=ranks)
        return run.result["covered_ranks"], run.result["guard_places"]

    def test_parity_covers_every_second_rank(self):
        ranks, places = self.covered("if get_rank() % 2 == 0:\n    even = True\nNet()(x)\n")
        self.assertEqual(ranks, [[rank, rank] for rank in range(0, 16, 2)])
        self.assertEqual(places, ["net.py:13"])

    def test_node_covers_eight_neighbours(self):
        self.assertEqual(self.covered("if get_rank() // 8 == 0:\n    first_node = True\nNet()(x)\n")[0], [[0, 7]])

    def test_stage_covers_the_ranks_of_the_stage(self):
        self.assertEqual(self.covered("stage = get_rank() // 4\nif stage == 0:\n    first = True\nNet()(x)\n")[0], [[0, 3]])

    def test_paths_and_prints_cover_all(self):
        self.assertEqual(self.covered("path = 'rank_%d' % 3 + str(get_rank())\nprint(f'{get_rank()}')\nNet()(x)\n"),
                         ([[0, 15]], []))


if __name__ == "__main__":
    unittest.main()
