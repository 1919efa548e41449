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


def operators_of(executor, phase):
    found = []
    for nodes in executor.get_parallel_graph_info(phase).values():
        for name, facts in nodes.items():
            attributes = facts.get("attrs") if isinstance(facts, dict) else None
            found.append([name.rsplit("-", 1)[0], str((attributes or {}).get("group", ""))])
    return sorted(found)


class Recorder:
    """A plugin of pytest: knows the test that runs, stands in front of the compiler."""

    def __init__(self, api, before_compile):
        self.test, self.number = "", 0
        self.executor = api._cell_graph_executor  # the suite's own way in
        self.before_compile = before_compile
        self.compile = self.executor.compile
        self.executor.compile = self.record

    def pytest_runtest_setup(self, item):
        self.test, self.number = item.name, 0

    def record(self, cell, *values, **options):
        number, self.number = self.number, self.number + 1
        self.before_compile()
        result = self.compile(cell, *values, **options)
        phase = result[0] if isinstance(result, tuple) else options.get("phase")
        inner = self.executor._graph_executor
        line = {"test": self.test, "number": number,
                "layouts": {name: plain(layout) for name, layout in (cell.parameter_layout_dict or {}).items()},
                "strategies": {name: plain(one) for name, one in dict(inner.get_strategy(phase)).items()},
                "operators": operators_of(inner, phase)}
        with open(OUT, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        return result


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
    before_compile = prepare_wheel() if os.environ["DRYDOCK_SIDE"] == "theirs" else lambda: None
    import pytest
    from mindspore.common import api
    return pytest.main(["-q", "-p", "no:cacheprovider", FILE], plugins=[Recorder(api, before_compile)])


if __name__ == "__main__":
    sys.exit(main())
