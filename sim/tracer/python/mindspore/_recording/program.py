"""One recorded program: the flat graph of a training step, built call by call."""
import itertools
import math

from mindspore._drydock import environment, frames, open_extents
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.frames import place_text, user_place
from mindspore._drydock.native import Recorder
from mindspore._drydock.node_log import NodeLog
from mindspore._drydock.session import session
from mindspore._recording import examples, values
from mindspore.common import dtype as mstype
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor, recorded

_serials = itertools.count(1)
_TOLD_APART = 64  # constants of at most so many elements are told apart by their values


class Program:
    """Python side of one recording; values are tensors that know their place in it."""

    def __init__(self, name="step", scratch=False):
        from mindspore import context
        self.recorder = Recorder()
        from mindspore.parallel import _op_strategy
        self.job = context.job_settings()
        self.pynative = context.runs_pynative()  # what no shard() is around is not cut
        self._kept_strategies = _op_strategy.current(self.job)  # (mode, path) of a file
        try:  # under the launcher, what cannot be compiled is not traced to its end first
            self.recorder.call("begin", name=name, job=self.job, check=not (scratch or session.compile_at_once))
        except Exception as error:
            error.drydock_place = context.place_of_refusal(error.drydock_reason)
            raise
        self.serial = next(_serials)
        self.scratch = scratch         # only for shapes of operators outside of any network
        self.node_count = 0
        self.layers = []               # what recompute() of each layer would change (nn/_recompute.py)
        self.dataset_repeat_on_right = False
        self.data_sink = False      # a step fetches its inputs from a queue on the device
        self.jit_config = {}           # of the compiled call, over those of the job
        self._steps = {}               # compiled call -> steps that the script makes of it
        self.failed = False            # an exception left it half recorded
        self.behind_dataset = False    # its inputs come from a data set that was recorded
        self.training = False  # a cell that is trained takes part
        self.has_updates = False       # the optimizer was recorded: the step is complete
        self._update_place = None      # line that runs it
        self.op_names = set()
        self.call_sites = {}           # eager operators: call site and operands -> results
        self.results = []              # tensors handed back to the script by compiled calls
        self.constant_results = []     # tensors handed back that no operator computes
        self.losses = []
        self.compiled = None           # answer of the last compile()
        self.global_rank = 0           # rank whose program is listed: that of the context at the last compile()
        self._inputs = {}              # id of the script's tensor -> recorded tensor
        self._twins = {}               # (id of a tensor, how often a call had it) -> tensor in its place
        self._parameter_names = set()
        self._parameters = {}          # id of a Parameter -> value id
        self._constants = {}
        self._numbers = {}             # value id -> elements, or None
        self._stacks = {}
        self._names = set()
        self._primitives = []          # (primitive, node id, version of its attributes)
        self._consumed = set()
        self._cell_calls = {}          # cell and arguments -> result
        self._producers = {}           # value id -> (node id, operator, operands, primitive)
        self.update_count = 0          # operators that write parameters
        self.step_update_count = 0     # those of optimizers among them
        self.passed_update_count = 0   # others, also those that a later run of a construct() goes over
        self._log = None               # NodeLog of the running construct()
        self.open_values = {}          # value -> its open dimensions
        self.open_inputs = {}          # name of an input -> its open dimensions
        self.open_extents = {}         # value -> the shape that stands for them
        self.examples = []             # inputs with open extents and their shapes, as they are compiled
        self._kept = []                # objects whose id() is used as a key
        self.named = None              # parameters of the running jit function by their names

    # -- values -------------------------------------------------------------------------------------
    def owns(self, tensor):
        return tensor._node is not None and tensor._node[0] is self

    def knows(self, tensor):
        """True if the tensor is a value or an input of this program."""
        return self.owns(tensor) or id(tensor) in self._inputs

    def twin(self, tensor, times):
        """What stands for a tensor where a call is given it for the `times`-th time: each argument is an input of its own."""
        if times == 1 or isinstance(tensor, Parameter):
            return tensor
        if (id(tensor), times) not in self._twins:
            self._twins[id(tensor), times] = tensor._copy_as(Tensor)
        return self._twins[id(tensor), times]

    def input_for(self, tensor, name):
        """The input that stands for a tensor of the script; the same tensor gives the same input."""
        found = self._inputs.get(id(tensor))
        if found is None:
            free_name = _free_name(name, self._names)
            answer = self.recorder.call("add_input", name=free_name,
                                        shape=list(self._input_shape(tensor)), dtype=tensor.dtype.name)
            found = recorded(self, answer["id"], answer["shape"], tensor.dtype)
            if tensor._open is not None:
                open_extents.mark(self, found, tuple(dim for dim, extent in enumerate(tensor._open) if extent is None or
                                                     type(extent).__name__ == "Symbol" or extent == -1))
                self.open_inputs[free_name] = list(open_extents.dims_of(self, found._node[1]))
            self._inputs[id(tensor)] = found
            self._kept.append(tensor)
        return found

    def is_input(self, tensor):
        """True for an input that was not there before, or is one since."""
        return any(tensor is found for found in self._inputs.values())

    def _input_shape(self, tensor):
        if tensor._open is None:
            return tensor.shape
        example = examples.shape_of(tensor)
        self.examples.append((tensor, example))
        session.warn_limit("an input with open extents is compiled for one example of them: %s" % (example,))
        return example

    def operand(self, value, dtype=None):
        """Value id of an operand: tensor, parameter, number, list, array, or None (absent)."""
        if value is None:
            return -1
        if isinstance(value, Parameter):
            known = value.first_values() if self.scratch else None
            return self.parameter(value) if known is None else self._add_constant(value.shape, value.dtype, known)
        if isinstance(value, Tensor):
            if self.owns(value):
                self._consumed.add(value._node[1])
                return value._node[1]
            if self.scratch and value._node is None and value._computed is not None and value._computed[0] is self:
                return value._computed[1]
            if value._node is None and value._open is None and id(value) not in self._inputs:
                return self._constant_tensor(value)
            found = self.input_for(value, value.param_name or "input")
            return found._node[1]
        if isinstance(value, (bool, int, float)):
            return self._scalar(value, dtype or values.describe(value)[1])
        return self._constant_tensor(Tensor(value, dtype))

    def holds(self, parameter):
        """True for a parameter that some operator uses."""
        return id(parameter) in self._parameters

    def has_parameters(self):
        return bool(self._parameters)

    def _check_name(self, parameter):
        """A jit function is one graph, where nothing puts the name of a cell in front of those of parameters."""
        other = self.named.setdefault(parameter.name, parameter)
        if other is not parameter:
            raise user_error(RuntimeError, "jit:same-name", "two parameters of one jit function have the name '%s'" % parameter.name,
                             "give one of them another name (update_parameters_name() of its cell, `name` of Parameter), or put the "
                             "networks and optimizers into a Cell")

    def parameter(self, parameter):
        if self.named is not None:
            self._check_name(parameter)
        found = self._parameters.get(id(parameter))
        if found is None:
            origin, role = parameter.origin, parameter.role
            if role == "weight" and origin is not None and parameter.name.startswith("accu_grads."):
                role = "accumulated_gradient"  # MindSpore knows them by their names, too
            elif role == "weight" and origin is not None and (self.losses or session.phase == "optimizer"):
                role = "optimizer_state"  # a clone that is first used behind the gradients lies as its weight does
            follows = role in ("optimizer_state", "accumulated_gradient") and origin is not None
            state_of = self.parameter(origin) if follows else -1
            place = {"place": self._stack((parameter.made_line,))} if frames.is_known(parameter.made_line) else {}
            answer = self.recorder.call(
                "add_parameter", name=_free_name(parameter.name, self._parameter_names), shape=list(parameter.shape),
                dtype=parameter.dtype.name, role=role, state_of=state_of,
                requires_grad=parameter.requires_grad, layerwise_parallel=parameter.layerwise_parallel,
                parallel_optimizer=parameter.parallel_optimizer, comm_fusion=parameter.comm_fusion, **place)
            if parameter.comm_fusion != 1 and parameter.role == "weight":
                self._note_fusion_number(parameter)
            found = self._parameters[id(parameter)] = answer["id"]
            self._kept.append(parameter)
        return found

    @staticmethod
    def _note_fusion_number(parameter):
        from mindspore import context
        from mindspore._fusion import fusion
        if context.cuts_operators():
            fusion.note_number(parameter)

    def _scalar(self, number, dtype):
        key = (type(number), repr(number), dtype)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._add_constant((), dtype, [number])
        return found

    def _constant_tensor(self, tensor):
        found = self._constants.get(id(tensor))
        if self._log is None:
            return self._new_constant(tensor) if found is None else found
        # A second run of the same code makes such tensors anew: they are the constants of the first.
        data = values.flat(tensor._source, tensor.dtype) if tensor._known() and tensor.size <= _TOLD_APART else None
        key = ("constant", tensor.shape, tensor.dtype.name, repr(data))
        earlier = self._log.next(key)
        if found is None:
            found = self._new_constant(tensor) if earlier is None else self._remember_constant(tensor, earlier)
        if earlier is None:
            self._log.append(key, found)
        return found

    def _new_constant(self, tensor):
        data = values.flat(tensor._source, tensor.dtype) if tensor._known() else None
        return self._remember_constant(tensor, self._add_constant(tensor.shape, tensor.dtype, data))

    def _remember_constant(self, tensor, constant):
        self._constants[id(tensor)] = constant
        self._kept.append(tensor)
        return constant

    def _add_constant(self, shape, dtype, data):
        if data is not None:
            data = [_json_number(number) for number in data] if dtype.kind != "complex" else None
        return self.recorder.call("add_constant", shape=list(shape), dtype=dtype.name, data=data)["id"]


    def hand_back(self, tensor):
        """A compiled call returns the tensor to the script: an output, unless used up by a later call."""
        self.results.append(tensor)
        self._consumed.discard(tensor._node[1])

    def numbers_of(self, value_id):
        """Elements of a value, row major, if they follow from numbers that the script gave; else None."""
        if value_id not in self._numbers:
            self._numbers[value_id] = self.recorder.call("value", value=value_id, most_elements=values.MAX_KEPT_ELEMENTS)["data"]
        return self._numbers[value_id]

    # -- nodes --------------------------------------------------------------------------------------
    def add_node(self, op, operands, attrs, primitive=None, types=None):
        """Records one operator; list of result tensors."""
        fields = {"op": op, "inputs": operands, "attrs": attrs, "scope": session.scope,
                  "phase": session.phase, "place": self._stack(), "stage": session.stage,
                  "segment": session.segment}
        if primitive is not None:
            fields["instance"] = primitive.instance_name
            fields.update(self._sharding_fields(primitive))
        if types is not None:
            fields["output_types"] = [{"shape": list(shape), "dtype": dtype.name} for shape, dtype in types]
        if primitive is not None and self.job.get("save_graphs"):
            fields["attrs"] = dict(attrs, **primitive.layout_texts())
        if session.extra_attrs:
            fields["attrs"] = dict(fields["attrs"], **session.extra_attrs)
        if self.pynative and session.phase == "forward":
            fields["attrs"] = dict(fields["attrs"], pynative="sharded" if session.in_shard else "whole")
        if session.behind_branch and session.phase == "optimizer":
            fields["attrs"] = dict(fields["attrs"], conditional=True)
            session.warn(_ON_HOST)
        if session.in_micro_batch and session.phase == "forward" and _updates(primitive):
            fields["attrs"] = dict(fields["attrs"], each_micro_batch=True)
        if session.in_micro_batch and primitive is not None and primitive.attrs.get("seq_split_add"):
            session.warn_limit(_BY_MICRO_BATCHES)
        key = (op, tuple(operands), repr(fields["attrs"]))
        answer = self._log.next(key) if self._log is not None else None
        if answer is None:
            answer = self._add(fields, key, primitive)
        self.passed_update_count += session.phase != "optimizer" and _updates(primitive)
        return [recorded(self, output["id"], output["shape"], mstype.dtype_named(output["dtype"]))
                for output in answer["outputs"]]

    def _add(self, fields, key, primitive):
        try:
            answer = self.recorder.call("add_node", **fields)
        except ValueError as error:
            if self.examples:
                raise _limit_of_examples(error, self.examples) from None
            raise
        op = fields["op"]
        self.node_count += 1
        if session.phase == "optimizer" and not self.has_updates:
            self.has_updates, self._update_place = True, user_place()
        self.op_names.add(op)
        for output in answer["outputs"]:
            self._producers[output["id"]] = answer["node"], op, fields["inputs"], primitive
        if primitive is not None:
            self._primitives.append((primitive, answer["node"], primitive.version))
            if _updates(primitive):
                self.update_count += 1
                self.step_update_count += session.phase == "optimizer"
        if self._log is not None:
            self._log.append(key, answer)
        return answer

    def keep_result(self, tensor, first_node):
        """Recomputation keeps the value: what makes it, if recorded as node `first_node` or later, runs once."""
        found = self.kept_node(tensor, first_node)
        if found is None:
            return
        node, slices, primitive = found
        attrs = {"recompute": False}
        if slices:
            attrs["slice_activation"] = True
        sharding = {} if primitive is None else self._sharding_fields(primitive)
        self.recorder.call("update_node", node=node, attrs=attrs, **sharding)

    def kept_node(self, tensor, first_node):
        """(node, whether it keeps a slice, primitive) of what makes a value; None if that was recorded before node `first_node`."""
        value = tensor._node[1]
        node, op, operands, primitive = self._producers.get(value, (-1, "", (), None))
        while op == "Depend":
            node, op, operands, primitive = self._producers.get(operands[0], (-1, "", (), None))
        if node < first_node:
            return None
        return node, bool(primitive is not None and primitive.attrs.get("slice_activation") and op != "Transpose"), primitive

    def is_same_value(self, first, second):
        """Whether two tensors are one value, but for what it waits for."""
        return self.owns(first) and self.owns(second) and self._without_waits(first) == self._without_waits(second)

    def is_waited_for(self, tensor):
        """Whether a tensor is a value behind something else."""
        return self._without_waits(tensor) != tensor._node[1]

    def _without_waits(self, tensor):
        value = tensor._node[1]
        _, op, operands, _ = self._producers.get(value, (-1, "", (), None))
        while op == "Depend":
            value = operands[0]
            _, op, operands, _ = self._producers.get(value, (-1, "", (), None))
        return value

    def note_condition(self, tensor):
        """A branch is decided by the value of a tensor."""
        if self.owns(tensor) and tensor._node[1] in self._producers:
            self.recorder.call("update_node", node=self._producers[tensor._node[1]][0], attrs={"decides_branch": True})

    @staticmethod
    def writes(primitive):
        """True for an operator that writes a parameter."""
        return _updates(primitive)

    def updates_so_far(self):
        """Changes when a parameter is written, also where a later run of a construct() only goes over what is recorded."""
        return self.update_count, self.passed_update_count

    def remember_call(self, cell, args, result, updates_before):
        """A call that wrote no parameter gives the same again for the same tensors; one that did until something else is written."""
        updates = self.updates_so_far()
        if all(isinstance(arg, Tensor) for arg in args):
            written = None if updates == updates_before else updates
            self._cell_calls[(id(cell),) + tuple(map(self._identity, args))] = (cell, args, result, written)

    def earlier_call(self, cell, args, writing=False):
        """Result of the same cell for the same tensors, or None; `writing`: also if it wrote parameters, and nothing did since."""
        if not all(isinstance(arg, Tensor) for arg in args):
            return None
        found = self._cell_calls.get((id(cell),) + tuple(map(self._identity, args)))
        if found is None or found[3] is not None and not (writing and found[3] == self.updates_so_far()):
            return None
        return found[2]

    def _identity(self, tensor):
        return ("value", tensor._node[1]) if self.owns(tensor) else ("object", id(tensor))

    def open_log(self):
        """Begins to remember what is recorded, so that a second run of the same code can go over it."""
        log = NodeLog(self._log)
        self._log = log
        return log

    def close_log(self, log):
        self._log = log.outer

    def _sharding_fields(self, primitive):
        fields = primitive.sharding_fields()
        if fields and not self.scratch and self.job["mode"] not in ("semi_auto_parallel", "auto_parallel"):
            session.warn("shard() of '%s' has no effect in parallel mode '%s'" % (primitive.name, self.job["mode"]))
        line = getattr(primitive, "shard_line", None)
        if fields and line:
            fields["shard_place"] = self._stack(line)
        return fields

    def _stack(self, key=None):
        """The stack of frames `key`; without it, of what runs now."""
        around, layer = (), None
        if key is None:
            key = frames.user_stack()
            around = frames.wrappers(session.compat) if self.job.get("save_graphs") else ()
            if session.layer is not None and key and session.layer[1] == key[0]:
                layer = session.layer[0]
        cached = key if layer is None and not around else (key, around, layer)
        found = self._stacks.get(cached)
        if found is None:
            places = [frames.place_at(*frame) for frame in key]
            places += [{"file": file, "line": line, "column": inside, "text": text} for file, line, inside, text in around]
            fields = {} if layer is None else {"layer": frames.place_at(*layer)}
            found = self._stacks[cached] = self.recorder.call("add_stack", frames=places, **fields)["stack"]
        return found

    def fail(self, error):
        """An exception ended the recording or the compile: the network is none, and the exception is the network's."""
        self.failed = True
        session.failures.append(error)

    def add_steps(self, call, count):
        """The script makes `count` more steps of one of its calls."""
        self._steps[call] = self._steps.get(call, 0) + count

    # -- the end ------------------------------------------------------------------------------------
    def write_document(self, path):
        """Writes the graph document to a file."""
        if self._kept_strategies[0] == "SAVE":
            self.compile()  # finds the strategies
        self._prepare()
        self.recorder.call("finish", file=path, **self._ending())

    def _update_primitives(self):
        """Attributes and strategies that the script added after a primitive was called."""
        for i, (primitive, node, version) in enumerate(self._primitives):
            if primitive.version != version:
                self.recorder.call("update_node", node=node, attrs=primitive.added_attrs(),
                                   **self._sharding_fields(primitive))
                self._primitives[i] = (primitive, node, primitive.version)

    def compile(self):
        """Runs the compiler on what is recorded so far; its answer (sim/tracer/compile_answer.h)."""
        from mindspore import context
        self._prepare()
        self.global_rank = int(context.get_auto_parallel_context("global_rank")) % max(1, context.device_count())
        self.compiled = self.recorder.call("compile", rank=self.global_rank, **self._ending())
        session.last_compile = {
            "serial": next(_serials), "nodes": self.compiled["nodes"],
            "without_rule": self.compiled["operators_without_rule"],
            "redistributions": self.compiled["redistributions"], "ops": sorted(self.op_names),
            "violations": self.compiled["violations"]}
        if self.job.get("save_graphs"):
            environment.write_dumps(self.job["save_graphs_path"], self.global_rank if self.job["world_size"] > 1 else None,
                                    self.recorder.call("dumps", rank=self.global_rank)["files"])
        mode, path = self._kept_strategies
        if mode == "SAVE":
            from mindspore.parallel import _op_strategy
            _op_strategy.save(path, self.compiled["strategies"], self._out_strategies())
        return self.compiled

    def _prepare(self):
        """What the script and a file of strategies say about operators that are recorded already."""
        self._update_primitives()
        mode, path = self._kept_strategies
        if mode != "LOAD":
            return
        from mindspore.parallel import _op_strategy
        strategies, outputs = _op_strategy.load(path)
        for name, node in self._node_names().items():
            if name in strategies:
                fields = {"strategy": strategies[name]}
                if name in outputs:
                    fields["out_strategy"] = outputs[name]
                self.recorder.call("update_node", node=node, attrs={}, **fields)

    def _node_names(self):
        """{full name: node} of what is compiled."""
        return self.recorder.call("node_names", **self._ending())["names"]

    def _out_strategies(self):
        """{full name: cuts per result} where the script gives them."""
        given = {node: primitive.attrs["out_strategy"] for primitive, node, _ in self._primitives
                 if "out_strategy" in primitive.attrs}
        return {name: given[node] for name, node in self._node_names().items() if node in given}

    def listing(self):
        """The compiled program of `global_rank`, node by node (sim/tracer/graph_listing.h)."""
        return self.recorder.call("listing", rank=self.global_rank, open=self.open_inputs)

    def _check_sharded_optimizer(self):
        """Where no operator is cut, a sharded optimizer makes every rank sum other gradients: the job would hang."""
        from mindspore import context
        if not self.has_updates or context.device_count() == 1 or context.cuts_operators() \
                or not context.get_auto_parallel_context("enable_parallel_optimizer"):
            return
        mode = context.get_auto_parallel_context("parallel_mode")
        said = place_text(context.place_of_setting("enable_parallel_optimizer"))
        used = place_text(self._update_place)
        hint = "leave enable_parallel_optimizer out, or cut operators (semi_auto_parallel)"
        if mode == "data_parallel" and session.compile_at_once:  # one rank alone waits for nobody
            session.warn_limit("enable_parallel_optimizer in data_parallel mode: the rank updates all parameters")
            return
        if mode != "data_parallel":
            raise user_error(RuntimeError, "Optimizer:sharded-mode",
                             "enable_parallel_optimizer (%s) does not work in mode '%s' (the optimizer runs at %s)"
                             % (said, mode, used), hint)
        raise user_error(RuntimeError, "Optimizer:ranks-disagree",
                         "enable_parallel_optimizer (%s) in data_parallel mode: each rank sums the gradients of its own "
                         "parameters only, but in the group of all ranks, so the collectives of the step (%s) wait for "
                         "each other forever" % (said, used), hint)

    def _ending(self):
        self._check_sharded_optimizer()
        own = {name: self.jit_config[name] for name in ("jit_level", "exec_order") if self.jit_config.get(name)}
        if own.get("jit_level") == "O2":
            own["jit_level"] = "O0"
        return dict(own, **self._ending_of_call())

    def _ending_of_call(self):
        return {"outputs": self._outputs(), "dataset_repeat_on_right": self.dataset_repeat_on_right,
                "training": self.training, "data_sink": self.data_sink,
                "steps": max(self._steps.values(), default=1)}

    def _outputs(self):
        """The losses, then whatever else the script got and no later operator used up."""
        ids = []
        for tensor in self.losses + [t for t in self.results if t._node[1] not in self._consumed]:
            if tensor._node[1] not in ids:
                ids.append(tensor._node[1])
        return ids or [self.operand(tensor) for tensor in self.constant_results]


_ON_HOST = ("the optimizer runs on one side of a branch: states that only this side uses are counted on the host, with a copy for "
            "each kernel, as MindSpore's own dry run has them; with a branch-free step they lie on the device")


_BY_MICRO_BATCHES = ("a pipeline whose cells cut sequences (seq_split_add): calls of a stage go by micro batches, not by parts of a sequence; "
                     "its peak may be too high")


def _updates(primitive):
    """True for operators that write a parameter."""
    return primitive is not None and getattr(type(primitive), "signature", None) is not None and (
        primitive.signature.kind == "update")


def _limit_of_examples(error, used):
    """Shapes that do not fit may do so for other extents than those of the examples: no mistake of the user."""
    limit = Unsupported("mindspore.Tensor.set_inputs", "with open extents, for which inputs are taken as %s: %s"
                        % (", ".join(str(shape) for _, shape in used), error),
                        "give inputs whole shapes, or Symbols that promise what the network needs")
    limit.drydock_open = used
    limit.drydock_place = error.drydock_place
    limit.drydock_notes = error.drydock_notes
    return limit


def _free_name(name, taken):
    """The name, numbered if another value has it; added to the taken ones."""
    candidate, n = name, 0
    while candidate in taken:
        n += 1
        candidate = "%s_%d" % (name, n)
    taken.add(candidate)
    return candidate


def _json_number(number):
    if isinstance(number, float) and not math.isfinite(number):
        return str(number)  # "inf", "-inf", "nan"
    return number
