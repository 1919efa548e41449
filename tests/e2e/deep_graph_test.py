"""Long chains of one operator: nothing that follows a graph does so by recursion."""

import json
import unittest

import command

NODES = 40000
STEPS = {
    "Cast": lambda i: {"dtype": "float32" if i % 2 else "float16"},
    "ReLU": lambda i: {},
    "Reshape": lambda i: {"shape": [8, 16] if i % 2 else [16, 8]},
}


class DeepGraphTest(command.CommandTest):
    def chain(self, op, mode):
        """x times w, then NODES times `op`; w itself goes through half as many."""
        nodes = []

        def through(value, name, count):
            for i in range(count):
                nodes.append({"op": op, "inputs": [value], "outputs": [name + str(i)], "attrs": STEPS[op](i)})
                value = name + str(i)
            return value

        weight = through("w", "a", NODES // 2)
        nodes.append({"op": "MatMul", "inputs": ["x", weight], "outputs": ["y"], "strategy": [[2, 1], [1, 1]]})
        last = through("y", "b", NODES)
        nodes.append({"op": "ReduceMean", "inputs": [last], "outputs": ["loss"], "attrs": {"axis": [0, 1], "keep_dims": False}})
        return json.dumps({
            "schema": "drydock.graph/1", "name": "deep", "nodes": nodes, "outputs": ["loss"],
            "job": {"world_size": 8, "mode": mode, "search_mode": "sharding_propagation", "dataset_strategy": "full_batch"},
            "inputs": [{"name": "x", "shape": [8, 8], "dtype": "float32"}],
            "parameters": [{"name": "w", "shape": [8, 16], "dtype": "float32"}]})

    def test_every_kind_of_chain_is_compiled(self):
        for op in STEPS:
            for mode in ("semi_auto_parallel", "auto_parallel"):
                with self.subTest(op=op, mode=mode):
                    self.write("deep.json", self.chain(op, mode))
                    self.assert_accepted(self.msrun("--log_dir=out", "deep.json"))
                    if op == "ReLU":  # chains of the others fold
                        counts = [row["operators"] for row in self.report("summary.json", "out")["operators"]]
                        self.assertGreaterEqual(sum(counts), NODES * 3 // 2)


if __name__ == "__main__":
    unittest.main()
