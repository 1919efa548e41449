"""Cells: networks and their parts."""
import itertools
import sys
from collections import OrderedDict

from mindspore._drydock import frames
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore._recording import branches, own_backward, tracing
from mindspore.common import dtype as mstype
from mindspore.common.parameter import Parameter, ParameterTuple
from mindspore.common.tensor import Tensor
from mindspore.nn import _cell_parts, _recompute

_created = itertools.count(1)
_CONTAINERS = ("_params", "_cells", "_primitives")


def _layer_of(cell, caller):
    """What operators of a cell name where no line of the script's calls it: the line that makes it, and the one that runs.

    A training loop calls a loss, and a SequentialCell its layers; inside of a construct() of the script's only losses
    are looked for, since its line is near enough for the others. (No method: cells of scripts have names of their own.)
    """
    made_line = cell.__dict__.get("_made_line")
    if frames.is_user_code(caller) or not frames.is_known(made_line):
        return None
    if not (cell._loops_apply_it or session.layer is not None or not session.in_own_construct):
        return None
    return made_line, frames.user_frame()


class Cell(_cell_parts.ParameterNames, _cell_parts.Settings, _recompute.Recomputation):
    """See mindspore.nn.Cell."""

    _loops_apply_it = False  # a loss: what a training loop applies behind the network
    step_phase = None  # part of a training step that the operators inside belong to, where the kind of cell says it
    _shard_fn = None  # what a call does behind shard()

    def __init__(self, auto_prefix=True, flags=None):
        object.__setattr__(self, "_params", OrderedDict())
        object.__setattr__(self, "_cells", OrderedDict())
        object.__setattr__(self, "_primitives", OrderedDict())
        object.__setattr__(self, "_made_in", session.branches)  # the construct() that makes it anew each time it runs
        object.__setattr__(self, "_made_line", frames.user_frame())
        self._auto_prefix = auto_prefix
        self._scope = None
        self._flags = dict(flags or {})
        self._compute_dtype = None
        self._operator_types = None
        self._pipeline_stage = None
        self._pipeline_segment = None
        self._param_prefix = ""
        self._jit_config_dict = {}
        self.training = False
        self.requires_grad = False
        self.phase = "train"
        self.create_time = next(_created)
        self.parameter_layout_dict = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("mindspore.") and "__init__" in cls.__dict__:
            _cell_parts.keep_arguments(cls)

    @property
    def cls_name(self):
        return self.__dict__.get("_cls_name", type(self).__name__)

    @cls_name.setter
    def cls_name(self, name):
        self.__dict__["_cls_name"] = name

    # -- attributes ---------------------------------------------------------------------------------
    def __getattr__(self, name):
        for container in _CONTAINERS:
            found = self.__dict__.get(container)
            if found is not None and name in found:
                return found[name]
        if not name.startswith("_"):
            arguments = _cell_parts.arguments_of(self)
            if name in arguments:
                return arguments[name]
            from mindspore._drydock import lazy, names
            if names.has_method("mindspore.nn.Cell", name):
                return lazy.Stub("mindspore.nn.Cell." + name)
        error = AttributeError("'%s' has no attribute '%s'" % (type(self).__name__, name))
        error.drydock_missing = self, name
        raise error

    def __setattr__(self, name, value):
        from mindspore.ops.primitive import Primitive
        if isinstance(value, (Parameter, Cell, Primitive)) and "_cells" not in self.__dict__:
            raise user_error(AttributeError, "Cell:not-initialised",
                             "'%s' is assigned before super().__init__() of %s was called"
                             % (name, type(self).__name__), "call super().__init__() first")
        if isinstance(value, Parameter):
            self._set_parameter(name, value)
        elif isinstance(value, ParameterTuple):
            self._set_parameter_tuple(name, value)
        elif isinstance(value, Cell):
            self._set_cell(name, value)
        elif isinstance(value, Primitive):
            self._forget(name)
            value.set_prim_instance_name(name)
            self._primitives[name] = value
            object.__setattr__(self, name, value)  # dir() and vars() list operators, not cells and parameters
        elif name in self.__dict__.get("_params", ()):
            self._reassign_parameter(name, value)
        else:
            if session.branches is not self.__dict__.get("_made_in"):
                branches.note_assignment()
            if "_cells" in self.__dict__:
                self._forget(name)
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        for container in _CONTAINERS:
            if name in self.__dict__[container]:
                del self.__dict__[container][name]
                self.__dict__.pop(name, None)
                return
        object.__delattr__(self, name)

    def _forget(self, name):
        """A new value of another kind replaces the old one."""
        for container in _CONTAINERS:
            self.__dict__[container].pop(name, None)
        self.__dict__.pop(name, None)

    def _set_parameter(self, name, value):
        self._forget(name)
        self.insert_param_to_cell(name, value)
        self._shadow_method(name, value)

    def _shadow_method(self, name, value):
        """An attribute that is called as a method of Cell ("place") is what the script says."""
        if callable(getattr(type(self), name, None)):
            self.__dict__[name] = value

    def _set_parameter_tuple(self, name, value):
        for parameter in value:
            if parameter._name_generated:
                parameter.name = name
        object.__setattr__(self, name, value)
        for parameter in value:
            self._params.setdefault(parameter.name, parameter)

    def _set_cell(self, name, value):
        self._forget(name)
        if self._auto_prefix:
            value.update_parameters_name(name + ".")
        self._cells[name] = value
        self._shadow_method(name, value)

    def _reassign_parameter(self, name, value):
        if value is None:
            self._params[name] = None
        elif isinstance(value, Tensor):
            if session.depth > 0:
                from mindspore.ops import functional
                functional.assign(self._params[name], value)
            else:
                self._params[name].set_data(value)
        else:
            raise user_error(TypeError, "Cell:parameter-type", "parameter '%s' cannot become a %s"
                             % (name, type(value).__name__))

    def insert_param_to_cell(self, param_name, param, check_name_contain_dot=True):
        if not isinstance(param_name, str):
            raise user_error(TypeError, "Cell:parameter-name", "the name of a parameter must be a string")
        if not param_name or (check_name_contain_dot and "." in param_name):
            raise user_error(KeyError, "Cell:parameter-name", "'%s' cannot be the name of a parameter" % param_name)
        if "_params" not in self.__dict__:
            raise user_error(AttributeError, "Cell:not-initialised", "call super().__init__() first")
        if param_name in self.__dict__ or param_name in self._cells:
            raise user_error(KeyError, "Cell:name-taken", "'%s' of %s is something else already"
                             % (param_name, type(self).__name__))
        if not isinstance(param, Parameter) and param is not None:
            raise user_error(TypeError, "Cell:parameter-type", "a parameter of a Cell must be a Parameter")
        if param is not None and param._name_generated:
            param.name = param_name
        self._params[param_name] = param

    def insert_child_to_cell(self, child_name, child_cell):
        if not child_name or "." in child_name:
            raise user_error(KeyError, "Cell:child-name", "'%s' cannot be the name of a cell" % child_name)
        if hasattr(self, child_name) and child_name not in self._cells:
            raise user_error(KeyError, "Cell:name-taken", "'%s' of %s is something else already"
                             % (child_name, type(self).__name__))
        if not isinstance(child_cell, Cell) and child_cell is not None:
            raise user_error(TypeError, "Cell:child-type", "a child of a Cell must be a Cell")
        self._cells[child_name] = child_cell

    # -- calls --------------------------------------------------------------------------------------
    def construct(self, *inputs, **kwargs):
        raise user_error(AttributeError, "Cell:no-construct",
                         "%s has no construct() method" % type(self).__name__,
                         "rename its forward() to construct()" if hasattr(type(self), "forward") else "define construct(self, ...), which computes the result")

    def __call__(self, *args, **kwargs):
        if session.depth > 0:
            return self._enter(*args, **kwargs)
        self.check_names()
        names = tracing.input_names(self.construct, skip=1)
        return tracing.run(self, self._enter, args, kwargs, names, jit_config=self._jit_config_dict)

    def compile_alone(self, args, kwargs):
        """Compiles one call by itself; the recorded program."""
        names = tracing.input_names(self.construct, skip=1)
        return tracing.compile_alone(self, self._enter, args, kwargs, names)

    def without_shard(self, *args, **kwargs):
        """The call itself, when its arguments have the cuts of shard()."""
        saved = self._shard_fn
        object.__setattr__(self, "_shard_fn", None)
        try:
            return self(*args, **kwargs)
        finally:
            object.__setattr__(self, "_shard_fn", saved)

    def _enter(self, *args, **kwargs):
        if self._shard_fn is not None:
            return self._shard_fn(*args, **kwargs)
        if session.repeating and not kwargs:
            found = tracing.current_program().earlier_call(self, args)
            if found is not None:
                return found
        if self._scope in (None, _recompute.SCOPE):
            _recompute.find_layers(self)
            self._give_scope("Default")
        saved = (session.scope, session.compute_dtype, session.stage, session.segment, session.phase,
                 session.operator_types, session.in_cell, session.layer, session.in_own_construct)
        of_script = not type(self).construct.__module__.startswith("mindspore.")
        session.layer = None if of_script or not session.in_cell else _layer_of(self, sys._getframe(2).f_code)
        session.in_own_construct = session.in_own_construct or of_script
        session.scope, session.in_cell = self._scope, True
        if self._compute_dtype is not None:
            session.compute_dtype = self._compute_dtype
            args = tuple(self._to_compute_dtype(arg) for arg in args)
            kwargs = {name: self._to_compute_dtype(arg) for name, arg in kwargs.items()}
            if session.operator_types is not None and session.operator_types.results_in_float32:
                session.operator_types = None  # all of a cell that is computed in the short type is
        if self._operator_types is not None:
            session.operator_types = self._operator_types
        if self._pipeline_stage is not None:
            session.stage = self._pipeline_stage
        if self._pipeline_segment is not None:
            session.segment = self._pipeline_segment
        session.phase = self.step_phase or session.phase
        try:
            program = tracing.current_program()
            program.training = program.training or self.training
            updates, first_node = program.updates_so_far(), program.node_count
            result = branches.run(program, lambda: self.construct(*args, **kwargs))
            if getattr(type(self), "bprop", None) is not None:
                own_backward.record(self, args, kwargs, result)
            if self._flags.get("output_no_recompute"):
                self._keep_outputs(program, result, first_node)
            elif "_is_layer" in self.__dict__ and not program.scratch:
                self._note_layer(program, result, first_node)
            if not kwargs:
                program.remember_call(self, args, result, updates)
            return result
        finally:
            (session.scope, session.compute_dtype, session.stage, session.segment, session.phase,
             session.operator_types, session.in_cell, session.layer, session.in_own_construct) = saved

    def _to_compute_dtype(self, value):
        if isinstance(value, (tuple, list)):
            return type(value)(self._to_compute_dtype(item) for item in value)
        if isinstance(value, Tensor) and value.dtype.kind == "float" and value.dtype is not self._compute_dtype:
            from mindspore.ops import functional
            return functional.cast(value, self._compute_dtype)
        return value

    def _give_scope(self, scope):
        """Scopes of this cell and all below, once; a cell compiled earlier keeps its own."""
        from mindspore import context
        with_class = context.get_context("reserve_class_name_in_scope")
        left = [(scope, self)]
        while left:
            scope, cell = left.pop()
            if cell._scope not in (None, _recompute.SCOPE):
                continue
            object.__setattr__(cell, "_scope", (cell._scope or "") + scope)
            left += [(scope + "/" + name + ("-" + type(child).__name__ if with_class else ""), child)
                     for name, child in reversed(list(cell._cells.items())) if child is not None]

    def compile(self, *args, **kwargs):
        self(*args, **kwargs)

    def compile_and_run(self, *args, **kwargs):
        return self(*args, **kwargs)

    def run_construct(self, cast_inputs, kwargs):
        return self.construct(*cast_inputs, **kwargs)

    def to_float(self, dst_type):
        if dst_type not in (mstype.float16, mstype.float32, mstype.bfloat16):
            raise user_error(ValueError, "Cell:to-float", "to_float() takes float16, bfloat16 or float32")
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "_compute_dtype", dst_type)
        return self

    def shard(self, in_strategy, out_strategy=None, parameter_plan=None, device="Ascend", level=0):
        from mindspore.communication import management
        from mindspore.parallel.shard import shard
        if management.get_group_size() == 1:
            return self
        sharded = shard(self, in_strategy, out_strategy, parameter_plan, device, level)
        if self._shard_fn is not None:
            session.warn("%s: shard() of '%s' was called before; its calls have the strategy of this one"
                         % (frames.place_text(frames.user_place()), self.cls_name))
        object.__setattr__(self, "_shard_fn", sharded)
        return sharded

    @property
    def pipeline_stage(self):
        return self._pipeline_stage

    @pipeline_stage.setter
    def pipeline_stage(self, value):
        if isinstance(value, bool) or not isinstance(value, int):
            raise user_error(TypeError, "Cell:pipeline-stage-type", "pipeline_stage must be a whole number")
        if value < 0:
            raise user_error(ValueError, "Cell:pipeline-stage-range", "pipeline_stage must not be negative",
                             "count stages from 0 on")
        object.__setattr__(self, "_pipeline_stage", value)

    @property
    def pipeline_segment(self):
        return self._pipeline_segment

    @pipeline_segment.setter
    def pipeline_segment(self, value):
        if isinstance(value, bool) or not isinstance(value, int):
            raise user_error(TypeError, "Cell:pipeline-segment-type", "pipeline_segment must be a whole number")
        if value < 0:
            raise user_error(ValueError, "Cell:pipeline-segment-range", "pipeline_segment must not be negative",
                             "count the parts of a stage from 0 on")
        object.__setattr__(self, "_pipeline_segment", value)

    def extend_repr(self):
        return ""

    def __repr__(self):
        inner = "".join("\n  (%s): %s" % (name, repr(child).replace("\n", "\n  "))
                        for name, child in self._cells.items())
        return "%s<%s%s>" % (type(self).__name__, self.extend_repr(), inner + "\n" if inner else "")

    def __hash__(self):
        return id(self)


class GraphCell(Cell):
    """Cells loaded from a file cannot be recorded."""

    def __init__(self, *args, **kwargs):
        super().__init__()
        raise Unsupported("mindspore.nn.GraphCell")


__getattr__ = module_getattr(__name__)
