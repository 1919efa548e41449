"""Parameters: tensors that live as long as the job."""
import itertools

from mindspore._drydock import frames
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor

_generated = itertools.count()
MAX_NAME = 1024
_MOST_KEPT = 1024  # elements of a parameter whose first values are known


class Parameter(Tensor):
    """See mindspore.Parameter. Values are never allocated."""

    def __init__(self, default_input, name=None, requires_grad=True, layerwise_parallel=False,
                 parallel_optimizer=True, storage_format="", device=None):
        shape, dtype, init = _describe(default_input)
        super().__init__(shape=shape, dtype=dtype, init=init)
        if device not in (None, "CPU"):
            raise user_error(ValueError, "Parameter:device", "device of a Parameter must be None or 'CPU'")
        self._small = default_input if not isinstance(default_input, Tensor) or default_input._known() else None
        if self._small is not None and values.count(shape) > _MOST_KEPT:
            self._small = None
        self._name_generated = False
        self.name = name
        self.requires_grad = requires_grad
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer
        self._comm_fusion = 1
        self.parallel_optimizer_comm_recompute = False
        self.sliced = False
        self.is_init = False
        self.init_mode = default_input if init is not None else None
        self.inited_param = None
        self.unique = False
        self.cache_enable = False
        self.slice_num = 1
        self.is_param_ps = False
        self.requires_aggr = True
        self.pipeline_stages = []
        self.is_in_pynative_shard = False
        self.shard_plan = None         # its cut by the parameter_plan of a shard()
        self.origin = None             # the parameter this one was cloned from
        self.role = "weight"           # or "optimizer_state", "hyper"
        self.made_line = frames.user_frame()

    def first_values(self):
        """Elements, row major, that the script gave, as long as nothing was recorded that reads or writes it; else None."""
        if self._small is None or any(program.holds(self) for program in session.programs):
            return None
        return values.flat(self._small, self._dtype)

    def _flat(self, what):
        found = self.first_values() if self._node is None else None
        return super()._flat(what) if found is None else found

    def made_at(self):
        """The user's line that makes it, None if there is none, or if that was in another process."""
        return frames.place_at(*self.made_line) if frames.is_known(self.made_line) else None

    @property
    def param_info(self):
        """What the original keeps beside the values; here the parameter itself."""
        return self

    @param_info.setter
    def param_info(self, value):
        """A clone of another parameter's: this one lies as that one does (the script made it as a state of it)."""
        if isinstance(value, Parameter) and value is not self and value.origin is not None:
            self.origin = value.origin
            self.name, self.requires_grad = value.name, value.requires_grad

    @property
    def name(self):
        return self._name

    @name.setter
    def name(self, value):
        if value is None or (isinstance(value, str) and not value.strip()):
            self._name = "Parameter#%d" % next(_generated)
            self._name_generated = True
            return
        if not isinstance(value, str):
            raise user_error(ValueError, "Parameter:name-type",
                             "the name of a Parameter must be a string, not %s" % type(value).__name__)
        if len(value) > MAX_NAME:
            raise user_error(ValueError, "Parameter:name-length",
                             "the name of a Parameter has %d characters, at most %d are possible"
                             % (len(value), MAX_NAME))
        self._name = value
        self._name_generated = False

    @property
    def requires_grad(self):
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value):
        _check_bool("requires_grad", value)
        self._requires_grad = value

    @property
    def layerwise_parallel(self):
        return self._layerwise_parallel

    @layerwise_parallel.setter
    def layerwise_parallel(self, value):
        _check_bool("layerwise_parallel", value)
        self._layerwise_parallel = value

    @property
    def parallel_optimizer(self):
        return self._parallel_optimizer

    @parallel_optimizer.setter
    def parallel_optimizer(self, value):
        _check_bool("parallel_optimizer", value)
        self._parallel_optimizer = value

    @property
    def comm_fusion(self):
        return self._comm_fusion

    @comm_fusion.setter
    def comm_fusion(self, value):
        if isinstance(value, bool) or not isinstance(value, int):
            raise user_error(TypeError, "Parameter:comm-fusion-type", "comm_fusion must be a whole number")
        if value < 0:
            raise user_error(ValueError, "Parameter:comm-fusion-range", "comm_fusion must not be negative")
        self._comm_fusion = value

    @property
    def data(self):
        return self

    def add_pipeline_stage(self, stage):
        if isinstance(stage, bool) or not isinstance(stage, int) or stage < 0:
            raise user_error(TypeError, "Parameter:pipeline-stage", "a pipeline stage is a whole number >= 0")
        self.pipeline_stages.append(stage)

    def clone(self, init="same"):
        copied = self._copy_as(Parameter)
        copied.origin = self
        copied.made_line = frames.user_frame()
        copied._node = None
        copied._small = None
        return copied

    def set_data(self, data, slice_shape=False):
        if not isinstance(data, Tensor):
            raise user_error(TypeError, "Parameter:data-type", "set_data() takes a Tensor")
        if data.shape != self.shape and not slice_shape:
            raise user_error(ValueError, "Parameter:data-shape",
                             "parameter '%s' has shape %s, the new data %s" % (self.name, self.shape, data.shape))
        self._small = data if data._known() and data.size <= _MOST_KEPT else None
        return self

    def init_data(self, layout=None, set_sliced=False):
        return self

    def set_param_ps(self, init_in_server=False):
        self.is_param_ps = True

    def value(self):
        return self

    def __repr__(self):
        return "Parameter (name=%s, shape=%s, dtype=%s, requires_grad=%s)" % (
            self._name, self.shape, self.dtype, self.requires_grad)

    __str__ = __repr__

    def __hash__(self):
        return id(self)

    def __deepcopy__(self, memo):
        copied = self._copy_as(Parameter)
        memo[id(self)] = copied
        return copied


class ParameterTuple(tuple):
    """See mindspore.ParameterTuple."""

    def __new__(cls, iterable):
        items = tuple(iterable)
        for item in items:
            if not isinstance(item, Parameter):
                raise user_error(TypeError, "ParameterTuple:item",
                                 "a ParameterTuple holds Parameters, not %s" % type(item).__name__)
        return super().__new__(cls, items)

    def clone(self, prefix, init="same"):
        """New parameters of the same shapes, named prefix + '.' + old name."""
        if not isinstance(prefix, str):
            raise user_error(TypeError, "ParameterTuple:prefix", "the prefix must be a string")
        copies = []
        for parameter in self:
            copied = parameter.clone(init)
            copied.name = prefix + "." + parameter.name
            if prefix == "accu_grads":  # the compiler knows accumulators by this name
                copied.role = "accumulated_gradient"
            copies.append(copied)
        return ParameterTuple(copies)

    def __parameter_tuple__(self):
        return None


def _check_bool(name, value):
    if not isinstance(value, bool):
        raise user_error(TypeError, "Parameter:" + name.replace("_", "-"),
                         "%s of a Parameter must be True or False, not %r" % (name, value))


def _describe(data):
    if isinstance(data, Tensor):
        return data.shape, data.dtype, data.init
    if isinstance(data, bool) or not (isinstance(data, (int, float, list)) or hasattr(data, "dtype")):
        raise user_error(TypeError, "Parameter:data-type",
                         "a Parameter cannot be made of a %s" % type(data).__name__,
                         "give it a Tensor, a numpy array, a list or a number")
    shape, dtype = values.describe(data)
    return shape, dtype, None


def hyper_parameter(value, name, dtype=mstype.float32):
    """A small parameter of an optimizer: learning rate, momentum, step counter."""
    parameter = Parameter(Tensor(value, dtype), name=name, requires_grad=False)
    parameter.role = "hyper"
    return parameter


__getattr__ = module_getattr(__name__)
