"""Inside MindSpore's interpreter: runs a script as on Ascend, whatever kind of device it asks for.

    as_ascend.py SCRIPT

What the compiler decided - slices of parameters, strategies of operators - goes to compiled.json in the current folder,
one entry per compiled graph.
"""

import json
import os
import runpy
import sys

import mindspore
from mindspore import communication, context
from mindspore.graph.api import _CellGraphExecutor

GROUP_OF_OPTIMIZER = 5  # place in the tuple that describes a layout


def _on_ascend(call):
    def changed(*arguments, **settings):
        if settings.get("device_target"):
            settings["device_target"] = "Ascend"
        return call(*arguments, **settings)
    return changed


def _layout(entry):
    layout = {"device_matrix": list(entry[0]), "tensor_map": list(entry[1]), "slice": list(entry[2])}
    if len(entry) > GROUP_OF_OPTIMIZER and entry[GROUP_OF_OPTIMIZER]:
        layout["optimizer_group"] = str(entry[GROUP_OF_OPTIMIZER])
    return layout


def _describe(executor, cell, phase):
    layouts = cell.parameter_layout_dict or {}
    return {"phase": str(phase).split(".", maxsplit=1)[0], "cell": type(cell).__name__,
            "parameters": {name: _layout(entry) for name, entry in layouts.items()},
            "whole": {one.name: list(one.shape) for one in cell.get_parameters() if one.name not in layouts},
            "strategies": {name: [list(cuts) for cuts in strategy]
                           for name, strategy in executor.get_strategy(phase).items()}}


def _keep_what_is_compiled():
    graphs, compile_graph = [], _CellGraphExecutor.compile

    def compile_and_keep(self, cell, *arguments, **settings):
        answer = compile_graph(self, cell, *arguments, **settings)
        phase = answer[0] if isinstance(answer, tuple) else answer
        try:
            graph = _describe(self._graph_executor, cell, phase)
        except Exception as reason:  # the run itself must not suffer
            print("reference: layouts are not recorded:", repr(reason))
            return answer
        if not any((one["phase"], one["cell"]) == (graph["phase"], graph["cell"]) for one in graphs):
            graphs.append(graph)
            with open("compiled.json", "w", encoding="utf-8") as out:
                json.dump(graphs, out)
        return answer

    _CellGraphExecutor.compile = compile_and_keep


def main():
    context.set_context = mindspore.set_context = _on_ascend(context.set_context)
    set_device, init = mindspore.set_device, communication.init
    mindspore.set_device = lambda target, *rest: set_device("Ascend", *rest)
    communication.init = communication.management.init = lambda backend_name=None: init()
    if hasattr(mindspore, "communication"):
        mindspore.communication.init = communication.init
    _keep_what_is_compiled()
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
