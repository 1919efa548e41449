"""What kernels say of themselves: taken down, and read by nothing, since no kernel is built in a dry run."""
import sys
import types

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr


def op_info_register(op_info):
    """Decorator of a function that builds a kernel."""
    return lambda function: function


def custom_info_register(*reg_info):
    """Decorator of a function that is the kernel of a Custom operator."""
    def decorate(function):
        function.reg_info = reg_info
        return function

    return decorate


class RegOp:
    """Facts by name, and lists of inputs, outputs and attributes; each call gives the object again."""

    def __init__(self, op_name=""):
        if not isinstance(op_name, str):
            raise user_error(TypeError, type(self).__name__ + ":name", "the name of an operator must be a text, not %r" % (op_name,))
        self.op_name = op_name
        self._facts, self._lists = {"op_name": op_name}, {"inputs": [], "outputs": [], "attr": [], "dtype_format": []}

    def _add(self, kind, args, named):
        self._lists[kind].append({"values": args, **named})
        return self

    def input(self, *args, **named):
        return self._add("inputs", args, named)

    def output(self, *args, **named):
        return self._add("outputs", args, named)

    def attr(self, *args, **named):
        return self._add("attr", args, named)

    def dtype_format(self, *args):
        count = len(self._lists["inputs"]) + len(self._lists["outputs"])
        if len(args) != count:
            raise user_error(ValueError, type(self).__name__ + ":dtype_format", "%d inputs and outputs have %d formats" % (count, len(args)))
        self._lists["dtype_format"].append(args)
        return self

    def get_op_info(self):
        return dict(self._facts, **self._lists)


def _settable(*names):
    """A kind of RegOp with settings of one value."""
    def setter(name):
        def method(self, value=True):
            self._facts[name] = value
            return self

        method.__name__ = name
        return method

    return type("_Settable", (RegOp,), {name: setter(name) for name in names})


class CpuRegOp(_settable("fusion_type")):
    """See mindspore.ops.op_info_register.CpuRegOp."""


class AiCPURegOp(CpuRegOp):
    """See mindspore.ops.AiCPURegOp."""


class AkgGpuRegOp(CpuRegOp):
    """See mindspore.ops.AkgGpuRegOp."""


class AkgAscendRegOp(CpuRegOp):
    """See mindspore.ops.AkgAscendRegOp."""


class AkgCpuRegOp(CpuRegOp):
    """See mindspore.ops.op_info_register.AkgCpuRegOp."""


class TBERegOp(_settable(
        "fusion_type", "unknown_shape_formats", "dynamic_rank_support", "real_input_index", "input_to_attr_index", "async_flag", "binfile_name",
        "compute_cost", "kernel_name", "partial_flag", "reshape_type", "dynamic_shape", "dynamic_compile_static", "need_check_supported",
        "is_dynamic_format", "op_pattern")):
    """See mindspore.ops.TBERegOp."""


class CustomRegOp(_settable("fusion_type", "target")):
    """See mindspore.ops.CustomRegOp."""

    def __init__(self, op_name="Custom"):
        super().__init__(op_name)


_TYPES = {"None": "", "BOOL": "bool", "BF16": "bfloat16", "C64": "complex64", "C128": "complex128"}
_TYPES.update({letter + str(bits): word + str(bits) for letter, word in (("I", "int"), ("U", "uint")) for bits in (8, 16, 32, 64)})
_TYPES.update({"F%d" % bits: "float%d" % bits for bits in (16, 32, 64)})
_FORMATS = {"None": "", "Default": "DefaultFormat", "5HD": "NC1HWC0", "FracZ": "FRACTAL_Z", "FracNZ": "FRACTAL_NZ",
            "FracZNLSTM": "FRACTAL_ZN_LSTM", "FracZNRNN": "FRACTAL_ZN_RNN", "ND_RNNBIAS": "ND_RNN_BIAS"}
_PLAIN = ("C1HWNCoC0", "NCHW", "NHWC", "HWCN", "NDHWC", "NCDHW", "DHWCN", "NDC1HWC0", "NC1HWC0", "FRACTAL_Z_3D", "ChannelLast")
_FORMATS.update({name: name for name in _PLAIN})


class DataType:
    """Pairs of element type and format: F32_Default is ("float32", "DefaultFormat")."""


for _short, _type in _TYPES.items():
    for _word, _format in _FORMATS.items():
        setattr(DataType, "%s_%s" % (_short, _word), (_type, _format))
    for _shape in ("Tuple", "List"):
        setattr(DataType, "%s_Default_%s" % (_short, _shape), (_type, "DefaultFormat", _shape.lower()))

NAMES = frozenset(("op_info_register", "custom_info_register", "CpuRegOp", "AiCPURegOp", "AkgGpuRegOp", "AkgAscendRegOp", "TBERegOp",
                   "CustomRegOp", "DataType"))
__getattr__ = module_getattr(__name__)


class _Module(types.ModuleType):
    """The package calls the function by the name of the module."""

    def __call__(self, op_info):
        return op_info_register(op_info)


sys.modules[__name__].__class__ = _Module
