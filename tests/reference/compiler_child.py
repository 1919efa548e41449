"""One file of the suite with one of the two packages `mindspore`; every network that compiles becomes a line.

    compiler_child.py SUITE FILE OUT        (started by compiler.py)
"""

import json
import os
import sys
from pathlib import Path

SUITE, FILE, OUT = sys.argv[1:]
# The real one would look for a device, and its folder of dumps belongs to nobody.
NOT_FOR_A_WHEEL = ("device_target", "device_id", "save_graphs", "save_graphs_path")


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)


def operators_of(nodes_by_graph):
    found = []
    for nodes in nodes_by_graph.values():
        for name, facts in nodes.items():
            attributes = facts.get("attrs") if isinstance(facts, dict) else None
            found.append([name.rsplit("-", 1)[0], str((attributes or {}).get("group", ""))])
    return sorted(found)


class Recorder:
    """A plugin of pytest: knows the test that runs, writes down what the compiler made of its networks."""

    def __init__(self):
        self.test, self.number, self.last = "", 0, None

    def pytest_runtest_setup(self, item):
        self.test, self.number, self.last = item.name, 0, None

    def write(self, layouts, strategies, nodes_by_graph):
        """The wheel compiles a network anew for each step: what is equal to the one before is the same network."""
        line = {"layouts": {name: plain(layout) for name, layout in layouts.items()},
                "strategies": {name: plain(one) for name, one in strategies.items()},
                "operators": operators_of(nodes_by_graph)}
        if line == self.last:
            return
        self.last = line
        with open(OUT, "a", encoding="utf-8") as stream:
            stream.write(json.dumps({"test": self.test, "number": self.number, **line}) + "\n")
        self.number += 1


def watch_wheel(recorder):
    """Stands in front of the suite's own way into the compiler."""
    from mindspore.common import api
    before_compile, executor = prepare_wheel(), api._cell_graph_executor
    compile_cell = executor.compile

    def compile_and_write(cell, *values, **options):
        before_compile()
        result = compile_cell(cell, *values, **options)
        phase, inner = result[0] if isinstance(result, tuple) else options.get("phase"), executor._graph_executor
        recorder.write(cell.parameter_layout_dict or {}, dict(inner.get_strategy(phase)), inner.get_parallel_graph_info(phase))
        return result

    executor.compile = compile_and_write


def watch_ours(recorder):
    """Every compiled program, also that of Model.train, which has no executor between."""
    from mindspore._recording.program import Program
    compile_program = Program.compile

    def compile_and_write(self):
        compiled = compile_program(self)
        recorder.write(compiled["layouts"], compiled["strategies"], self.listing())
        return compiled

    Program.compile = compile_and_write


def prepare_wheel():
    """@return what has to be done before every compile"""
    import mindspore
    from mindspore import context
    from mindspore.parallel._auto_parallel_context import auto_parallel_context
    set_context = context.set_context

    def set_some(**settings):
        settings = {name: value for name, value in settings.items() if name not in NOT_FOR_A_WHEEL}
        if settings:
            set_context(**settings)

    context.set_context = mindspore.set_context = set_some
    # Else the number of devices has to be that of a real cluster.
    return lambda: auto_parallel_context()._context_handle.set_hccl_test_avaible(True)


def main():
    sys.path[:0] = [SUITE, str(Path(SUITE) / "tests/ut/python"), str(Path(__file__).resolve().parents[1] / "peer")]
    from peer_substitutes import install_substitutes
    install_substitutes(SUITE)
    import pytest
    recorder = Recorder()
    (watch_wheel if os.environ["DRYDOCK_SIDE"] == "theirs" else watch_ours)(recorder)
    return pytest.main(["-q", "-p", "no:cacheprovider", FILE], plugins=[recorder])


if __name__ == "__main__":
    sys.exit(main())
