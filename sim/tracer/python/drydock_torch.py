"""`drydock from-torch`: a graph document from a PyTorch model and its tensor-parallel plan.

The user's own torch traces the model to ATen operators (torch.export where there is one, else make_fx); every operator becomes one
of Drydock's, and the plan becomes strategies of the matrix products. All other operators are left to the search by sharding
propagation. Nothing is computed on a device, and no process group is needed.

A plan maps names of modules (patterns with *) to "colwise" or "rowwise", or to ColwiseParallel() and RowwiseParallel() of
torch.distributed.tensor.parallel. A model whose weights are DTensors needs none. Example, in the user's file:

    def drydock_model():
        return Block(), (torch.ones(4, 128, 512),), {"wq": "colwise", "wo": "rowwise"}
"""
import argparse
import fnmatch
import json
import os
import runpy
import sys
import traceback

USER, UNSUPPORTED = 6, 8


class Refused(Exception):
    """A message, a remedy, and whether it is the user's mistake or our limit."""

    def __init__(self, message, hint="", status=USER):
        super().__init__(message)
        self.hint, self.status = hint, status


# -- the user's file --------------------------------------------------------------------------------------
def load(path):
    """(model, arguments, plan) of the user's file."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    names = runpy.run_path(path, run_name="__drydock__")
    if callable(names.get("drydock_model")):
        result = names["drydock_model"]()
    else:
        result = tuple(names[name] for name in ("model", "example_inputs", "plan") if name in names)
    if not isinstance(result, tuple) or len(result) < 2 or not isinstance(result[1], (tuple, list)):
        raise Refused("%s tells no model" % path, "define drydock_model(), which returns (model, arguments, plan): "
                      "a Module, a tuple of tensors, and a dict of module names to 'colwise' or 'rowwise'")
    return result[0], tuple(result[1]), result[2] if len(result) > 2 else {}


def style_of(value):
    name = value if isinstance(value, str) else type(value).__name__
    for style in ("colwise", "rowwise"):
        if name.lower().startswith(style):
            return style
    raise Refused("the plan has %r" % name, "known are 'colwise' and 'rowwise', ColwiseParallel and RowwiseParallel", UNSUPPORTED)


def cut_weights(model, plan):
    """{name of a weight: dimension that tensor parallelism cuts}."""
    cuts = {}
    used = set()
    for name, module in model.named_modules():
        weight = getattr(module, "weight", None)
        for pattern, value in plan.items():
            if fnmatch.fnmatchcase(name, pattern):
                used.add(pattern)
                if weight is None:
                    raise Refused("the plan names '%s', which has no weight" % name, "name the Linear or Embedding in it")
                looked_up = type(module).__name__ == "Embedding"
                cuts[name + ".weight"] = int((style_of(value) == "rowwise") != looked_up)
    unused = sorted(set(plan) - used)
    if unused:
        known = [name for name, module in model.named_modules() if getattr(module, "weight", None) is not None]
        raise Refused("the plan names '%s', but no module is called so" % unused[0], "there are " + ", ".join(known[:8]))
    for name, value in model.named_parameters():
        for placement in getattr(value, "placements", ()):
            if getattr(placement, "dim", None) is not None:
                cuts[name] = placement.dim
    return cuts


# -- tracing ----------------------------------------------------------------------------------------------
def trace(torch, model, arguments):
    """(ATen graph, {placeholder: parameter name}, result of the model)."""
    if hasattr(torch, "export"):
        exported = torch.export.export(model, arguments).run_decompositions()
        signature = exported.graph_signature
        names = dict(signature.inputs_to_parameters)
        names.update(signature.inputs_to_buffers)
        return exported.graph, names
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.nn.utils import stateless
    weights = dict(model.named_parameters())
    weights.update(model.named_buffers())
    graph = make_fx(lambda weights, *given: stateless.functional_call(model, weights, given))(weights, *arguments).graph
    placeholders = [node.name for node in graph.nodes if node.op == "placeholder"]
    return graph, dict(zip(placeholders, weights))


class Value:
    """A tensor of the document; `source` is what a view is a view of."""

    def __init__(self, name, shape, dtype, source=None):
        self.name, self.shape, self.dtype, self.source = name, list(shape), dtype, source


class Document:
    def __init__(self, torch, model, arguments, cuts, ranks, tensor_parallel):
        self.torch, self.model, self.cuts = torch, model, cuts
        self.ranks, self.tp = ranks, tensor_parallel
        self.dp = ranks // tensor_parallel
        self.values, self.nodes, self.inputs, self.parameters, self.constants = {}, [], [], [], []
        self.numbers = {}
        self.weights = dict(model.named_parameters())
        self.buffers = dict(model.named_buffers())
        self.turned = {}
        self.fill(*trace(torch, model, arguments), arguments)

    # -- pieces --
    def dtype(self, tensor):
        return str(tensor.dtype).split(".")[-1]

    def emit(self, op, inputs, shape, dtype, attrs=None, strategy=None, outputs=1):
        inputs = [self.made(value) for value in inputs]
        number = self.numbers[op] = self.numbers.get(op, -1) + 1
        name = "%s_%d" % (op, number)
        node = {"op": op, "inputs": [value.name for value in inputs], "scope": "Default/" + type(self.model).__name__,
                "outputs": [name] if outputs == 1 else ["%s:%d" % (name, i) for i in range(outputs)]}
        if attrs:
            node["attrs"] = attrs
        if strategy:
            node["strategy"] = strategy
        self.nodes.append(node)
        return Value(node["outputs"][0], shape, dtype)

    def constant(self, number, like):
        name = "c%d" % len(self.constants)
        self.constants.append({"name": name, "shape": [], "dtype": like.dtype, "data": [number]})
        return Value(name, [], like.dtype)

    def value(self, item, like=None):
        if isinstance(item, (int, float)):
            return self.constant(float(item) if like.dtype.startswith(("float", "bfloat")) else item, like)
        return self.values[item.name]

    # -- the graph --
    def fill(self, graph, names, arguments):
        given = iter(arguments)
        for node in graph.nodes:
            if node.op == "placeholder":
                self.placeholder(node, names.get(node.name), given)
            elif node.op == "call_function":
                self.call(node)
            elif node.op == "output":
                results = node.args[0]
                results = results if isinstance(results, (tuple, list)) else [results]
                self.result = self.values[next(item for item in results if item is not None).name]
            else:
                raise Refused("the traced model has '%s'" % node.format_node(), "", UNSUPPORTED)

    def placeholder(self, node, name, given):
        if name is None:
            tensor = next(given)
            shape = list(tensor.shape)
            self.inputs.append({"name": node.name, "global_shape": shape, "dtype": self.dtype(tensor)})
        else:
            tensor = self.weights.get(name, self.buffers.get(name))
            self.parameters.append({"name": name, "shape": list(tensor.shape), "dtype": self.dtype(tensor),
                                    "requires_grad": bool(name in self.weights and tensor.requires_grad)})
        self.values[node.name] = Value(name or node.name, tensor.shape, self.dtype(tensor))

    def call(self, node):
        op = str(node.target).replace("aten.", "").split(".")[0]
        if node.target.__class__.__name__ == "builtin_function_or_method" and node.target.__name__ == "getitem":
            self.values[node.name] = self.values[node.args[0].name][node.args[1]] if isinstance(
                self.values[node.args[0].name], list) else self.values[node.args[0].name]
            return
        handler = getattr(self, "op_" + op.strip("_"), None)
        result = handler(node, *node.args) if handler else self.simple(op, node)
        self.values[node.name] = result

    SIMPLE = {"rsqrt": "Rsqrt", "silu": "SiLU", "relu": "ReLU", "gelu": "GeLU", "tanh": "Tanh", "sigmoid": "Sigmoid", "exp": "Exp", "neg": "Neg",
              "sin": "Sin", "cos": "Cos", "sqrt": "Sqrt", "log": "Log", "reciprocal": "Reciprocal"}
    BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "RealDiv", "maximum": "Maximum", "minimum": "Minimum"}

    def simple(self, op, node):
        first = self.value(node.args[0]) if node.args and hasattr(node.args[0], "name") else None
        if op in self.SIMPLE and first:
            return self.emit(self.SIMPLE[op], [first], first.shape, first.dtype)
        if op in self.BINARY and first and not node.kwargs:
            other = self.value(node.args[1], first)
            shape = list(self.torch.broadcast_shapes(tuple(first.shape), tuple(other.shape)))
            return self.emit(self.BINARY[op], [first, other], shape, first.dtype)
        raise Refused("'%s' has no counterpart here" % node.target, "write that part with other operators, or leave it out", UNSUPPORTED)

    # -- what only passes on --
    def op_clone(self, node, x, *rest):
        return self.value(x)

    op_detach = op_alias = op_contiguous = op_lift_fresh_copy = op_dropout = op_native_dropout = op_clone

    def op_expand(self, node, x, size, *rest):
        value = self.value(x)
        if [n for n in size if n != -1] != [have for have, n in zip(value.shape[-len(size):], size) if n != -1] or len(size) != len(value.shape):
            return self.emit("BroadcastTo", [value], self.extents(size, value), value.dtype, {"shape": self.extents(size, value)})
        return value

    def extents(self, size, value):
        pad = [1] * (len(size) - len(value.shape)) + value.shape
        return [have if n == -1 else n for n, have in zip(size, pad)]

    def op_to_copy(self, node, x, *rest):
        value = self.value(x)
        wanted = node.kwargs.get("dtype")
        name = str(wanted).split(".")[-1]
        return value if wanted is None or name == value.dtype else self.emit("Cast", [value], value.shape, name, {"dtype": name})

    # -- shapes --
    def reshaped(self, value, shape):
        shape = list(shape)
        if -1 in shape:
            known = 1
            for n in shape:
                known *= n if n != -1 else 1
            total = 1
            for n in value.shape:
                total *= n
            shape[shape.index(-1)] = total // known
        source = value.source or value
        if shape == source.shape:
            return source
        return Value(None, shape, value.dtype, source)

    def op_view(self, node, x, shape, *rest):
        return self.reshaped(self.views(x), shape)

    op_reshape = op_reshape_alias = op_unsafe_view = op_view

    def op_unsqueeze(self, node, x, dim):
        value = self.views(x)
        at = dim if dim >= 0 else dim + len(value.shape) + 1
        return self.reshaped(value, value.shape[:at] + [1] + value.shape[at:])

    def op_squeeze(self, node, x, dim):
        value = self.views(x)
        return self.reshaped(value, [n for i, n in enumerate(value.shape) if i != dim % len(value.shape)])

    def views(self, item):
        return self.values[item.name]

    def made(self, value):
        """A view becomes a Reshape where somebody reads it."""
        if value.source is None:
            return value
        return self.emit("Reshape", [self.made(value.source)], value.shape, value.dtype, {"shape": value.shape})

    def permuted(self, value, order):
        value = self.made(value)
        return self.emit("Transpose", [value], [value.shape[i] for i in order], value.dtype, {"input_perm": list(order)})

    def op_transpose(self, node, x, a, b):
        value = self.views(x)
        order = list(range(len(value.shape)))
        order[a], order[b] = order[b], order[a]
        return self.permuted(value, order)

    def op_permute(self, node, x, order):
        return self.permuted(self.views(x), [i % len(order) for i in order])

    def op_t(self, node, x):
        value = self.views(x)
        result = Value(value.name, value.shape[::-1], value.dtype)
        result.turned = value
        return result

    # -- products --
    def op_mm(self, node, x, w):
        left = self.made(self.views(x))
        weight = self.views(w)
        turned = getattr(weight, "turned", None)
        operand = turned or self.made(weight)
        columns = operand.shape[0] if turned else operand.shape[1]
        strategy = self.product_strategy(operand.name, bool(turned))
        return self.emit("MatMul", [left, operand], [left.shape[0], columns], left.dtype, {"transpose_b": bool(turned)}, strategy)

    def product_strategy(self, name, turned):
        """Linear: (rows, in) @ (out, in) transposed."""
        if name not in self.cuts or not turned:
            return None
        out = self.tp if self.cuts[name] == 0 else 1
        inner = self.tp if self.cuts[name] == 1 else 1
        return [[self.dp, inner], [out, inner]]

    def op_addmm(self, node, bias, x, w):
        product = self.op_mm(node, x, w)
        return self.emit("Add", [product, self.made(self.views(bias))], product.shape, product.dtype)

    def op_linear(self, node, x, w, bias=None):
        left = self.views(x)
        weight = self.made(self.views(w))
        rows = 1
        for n in left.shape[:-1]:
            rows *= n
        flat = self.made(self.reshaped(left, [rows, left.shape[-1]]))
        product = self.emit("MatMul", [flat, weight], [rows, weight.shape[0]], left.dtype, {"transpose_b": True},
                            self.product_strategy(weight.name, True))
        if bias is not None:
            product = self.emit("Add", [product, self.made(self.views(bias))], product.shape, product.dtype)
        return self.reshaped(product, left.shape[:-1] + [weight.shape[0]])

    def op_bmm(self, node, x, y):
        """Batches that are views of heads stay apart: (B, N, S, D) is cut along N, (B * N, S, D) is not."""
        left, right = self.views(x), self.views(y)
        a, b = left.source, right.source
        if a is not None and b is not None and len(a.shape) == len(b.shape) == 4 and a.shape[:2] == b.shape[:2] and \
                a.shape[2:] == left.shape[1:] and b.shape[2:] == right.shape[1:]:
            product = self.emit("BatchMatMul", [self.made(a), self.made(b)], a.shape[:3] + [b.shape[3]], left.dtype)
            return self.reshaped(product, left.shape[:2] + [right.shape[2]])
        left, right = self.made(left), self.made(right)
        return self.emit("BatchMatMul", [left, right], left.shape[:2] + [right.shape[2]], left.dtype)

    def op_matmul(self, node, x, y):
        left, right = self.made(self.views(x)), self.made(self.views(y))
        return self.emit("MatMul" if len(left.shape) == 2 else "BatchMatMul", [left, right], left.shape[:-1] + right.shape[-1:], left.dtype)

    # -- others --
    def op_softmax(self, node, x, dim, *rest):
        value = self.made(self.views(x))
        return self.emit("Softmax", [value], value.shape, value.dtype, {"axis": dim})

    def op_log_softmax(self, node, x, dim, *rest):
        value = self.made(self.views(x))
        return self.emit("LogSoftmax", [value], value.shape, value.dtype, {"axis": dim})

    def op_pow(self, node, x, exponent):
        value = self.made(self.views(x))
        if exponent == 2:
            return self.emit("Square", [value], value.shape, value.dtype)
        return self.emit("Pow", [value, self.constant(float(exponent), value)], value.shape, value.dtype)

    def reduced(self, op, node, x, dims=None, keep=False, **kwargs):
        value = self.made(self.views(x))
        axes = list(range(len(value.shape))) if not dims else [d % len(value.shape) for d in dims]
        shape = [1 if i in axes else n for i, n in enumerate(value.shape) if keep or i not in axes]
        return self.emit(op, [value], shape, value.dtype, {"axis": axes, "keep_dims": bool(keep)})

    def op_mean(self, node, *args):
        return self.reduced("ReduceMean", node, *args)

    def op_sum(self, node, *args):
        return self.reduced("ReduceSum", node, *args)

    def op_embedding(self, node, table, ids, *rest):
        weight, index = self.made(self.views(table)), self.made(self.views(ids))
        strategy = None
        if weight.name in self.cuts:
            rows = [self.tp, 1] if self.cuts[weight.name] == 0 else [1, self.tp]
            strategy = [rows, [self.dp] + [1] * (len(index.shape) - 1)]
        return self.emit("Gather", [weight, index], index.shape + weight.shape[1:], weight.dtype, {"axis": 0}, strategy)

    def op_native_layer_norm(self, node, x, shape, weight, bias, epsilon):
        value = self.made(self.views(x))
        axis = len(value.shape) - len(shape)
        return [self.emit("LayerNorm", [value, self.views(weight), self.views(bias)], value.shape, value.dtype,
                          {"begin_norm_axis": axis, "begin_params_axis": axis, "epsilon": epsilon}, outputs=3)]

    def value_of(self, item):
        return self.made(self.views(item))

    # -- the whole --
    def finish(self, optimizer):
        loss = self.made(self.result)
        if loss.shape:
            loss = self.emit("ReduceMean", [loss], [], loss.dtype, {"axis": list(range(len(loss.shape))), "keep_dims": False})
        trained = [item for item in self.parameters if item["requires_grad"]]
        gradients = ["grad." + item["name"] for item in trained]
        outputs = [loss.name]
        if trained:
            self.nodes.append({"op": "_Gradient", "inputs": [loss.name] + [item["name"] for item in trained], "outputs": gradients,
                               "phase": "backward"})
            if optimizer == "adamw":
                self.update(trained, gradients)
            else:
                outputs += gradients
        job = {"world_size": self.ranks, "mode": "auto_parallel", "search_mode": "sharding_propagation",
               "dataset_strategy": [[self.dp] + [1] * (len(item["global_shape"]) - 1) for item in self.inputs]}
        return {"schema": "drydock.graph/1", "name": type(self.model).__name__, "job": job, "inputs": self.inputs,
                "parameters": self.parameters, "constants": self.constants, "nodes": self.nodes, "outputs": outputs}

    def update(self, trained, gradients):
        numbers = []
        for name in ("lr", "beta1", "beta2", "epsilon", "weight_decay"):
            self.parameters.append({"name": name, "shape": [], "dtype": "float32", "role": "hyper", "requires_grad": False})
            numbers.append(name)
        for item, gradient in zip(trained, gradients):
            states = []
            for prefix in ("exp_avg.", "exp_avg_sq."):
                self.parameters.append({"name": prefix + item["name"], "shape": item["shape"], "dtype": "float32",
                                        "state_of": item["name"], "requires_grad": False})
                states.append(prefix + item["name"])
            self.nodes.append({"op": "AdamWeightDecay", "inputs": [item["name"]] + states + numbers + [gradient], "phase": "optimizer"})


def convert(options):
    try:
        import torch
    except ImportError:
        raise Refused("this interpreter has no torch", "name the one with which you train: --python=.../bin/python") from None
    if options.worker_num % options.tensor_parallel:
        raise Refused("tensor_parallel is %d, which does not divide %d ranks" % (options.tensor_parallel, options.worker_num),
                      "give a divisor of --worker_num")
    model, arguments, plan = load(options.model)
    document = Document(torch, model, arguments, cut_weights(model, plan), options.worker_num, options.tensor_parallel)
    return document.finish(options.optimizer)


def main():
    parser = argparse.ArgumentParser(prog="drydock from-torch", description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a Python file that defines drydock_model()")
    parser.add_argument("--worker_num", type=int, default=8)
    parser.add_argument("--tensor_parallel", type=int, default=8)
    parser.add_argument("--optimizer", choices=("adamw", "none"), default="adamw")
    parser.add_argument("--output", default="graph.json")
    options = parser.parse_args()
    try:
        document = convert(options)
    except Refused as refusal:
        print("drydock from-torch: error: %s" % refusal, file=sys.stderr)
        if refusal.hint:
            print("hint: %s" % refusal.hint, file=sys.stderr)
        return refusal.status
    except Exception:  # noqa: B902 (the user's file may raise anything)
        traceback.print_exc()
        print("drydock from-torch: error: %s cannot be traced" % options.model, file=sys.stderr)
        return USER
    folder = os.path.dirname(os.path.abspath(options.output))
    temporary = os.path.join(folder, ".%s.%d" % (os.path.basename(options.output), os.getpid()))
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
    os.replace(temporary, options.output)
    print("%s: %d nodes, %d parameters; check it with: msrun --sim_level=1 --worker_num=%d %s" % (
        options.output, len(document["nodes"]), len(document["parameters"]), options.worker_num, options.output))
    return 0


if __name__ == "__main__":
    sys.exit(main())
