"""Element types."""
import enum

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr


class Type:
    """An element type; equal types are one object. ``name`` is how the graph recorder spells it."""

    def __init__(self, name, kind, itemsize, shown):
        self.name = name
        self.kind = kind  # "bool", "int", "uint", "float" or "complex"
        self.itemsize = itemsize
        self._shown = shown

    def __repr__(self):
        return "mindspore." + self.name if self.name != "bool" else "mindspore.bool_"

    def __str__(self):
        return self._shown

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return dtype_named, (self.name,)


bool_ = Type("bool", "bool", 1, "Bool")
int8 = Type("int8", "int", 1, "Int8")
int16 = Type("int16", "int", 2, "Int16")
int32 = Type("int32", "int", 4, "Int32")
int64 = Type("int64", "int", 8, "Int64")
uint8 = Type("uint8", "uint", 1, "UInt8")
uint16 = Type("uint16", "uint", 2, "UInt16")
uint32 = Type("uint32", "uint", 4, "UInt32")
uint64 = Type("uint64", "uint", 8, "UInt64")
float16 = Type("float16", "float", 2, "Float16")
bfloat16 = Type("bfloat16", "float", 2, "BFloat16")
float32 = Type("float32", "float", 4, "Float32")
float64 = Type("float64", "float", 8, "Float64")
complex64 = Type("complex64", "complex", 8, "Complex64")
complex128 = Type("complex128", "complex", 16, "Complex128")
byte, short, int_, long = int8, int16, int64, int64
ubyte, ushort, uint, ulong = uint8, uint16, uint32, uint64
half, single, float_, double = float16, float32, float64, float64
intc, intp, uintc, uintp, cfloat, cdouble = int32, int64, uint32, uint64, complex64, complex128

string = Type("string", "str", 1, "String")  # of file names and texts; tensors of it are not recorded
float8_e4m3fn = Type("float8_e4m3fn", "float", 1, "Float8E4M3FN")
float8_e5m2 = Type("float8_e5m2", "float", 1, "Float8E5M2")
hifloat8 = Type("hifloat8", "float", 1, "HiFloat8")
qint4x2 = Type("qint4x2", "int", 1, "QInt4x2")
Int, UInt, Float, Bool, TensorType = Type, Type, Type, Type, Type  # classes of element types: one here


class QuantDtype(enum.Enum):
    """Bits of quantised numbers."""

    INT1, INT2, INT3, INT4, INT5, INT6, INT7, INT8, INT9, INT10, INT11, INT12, INT13, INT14, INT15, INT16 = range(16)
    UINT1, UINT2, UINT3, UINT4, UINT5, UINT6, UINT7, UINT8, UINT9, UINT10, UINT11, UINT12, UINT13, UINT14, UINT15, UINT16 = range(
        100, 116)


all_types = (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
             float32, float64, complex64, complex128)
number_type = tuple(t for t in all_types if t is not bool_)
int_type = (int8, int16, int32, int64)
uint_type = (uint8, uint16, uint32, uint64)
float_type = (float16, bfloat16, float32, float64)
_by_name = {t.name: t for t in all_types}
_by_name["bool_"] = bool_


def dtype_named(name):
    """Type by the recorder's or numpy's name, None if there is none."""
    return _by_name.get(name)


def dtype_of(value, fallback=None):
    """Type of a dtype argument: one of ours, a Python type, a numpy dtype or type, a name."""
    if value is None:
        return fallback
    if isinstance(value, Type):
        return value
    if isinstance(value, type) and value in (bool, int, float):
        return {bool: bool_, int: int64, float: float32}[value]
    name = value if isinstance(value, str) else getattr(value, "name", None) or getattr(value, "__name__", "")
    found = _by_name.get(name.lower())
    if found is None:
        raise user_error(TypeError, "dtype:unknown", "%r is not an element type" % (value,),
                         "use mindspore.float32, mindspore.int32, ...")
    return found


def pytype_to_dtype(obj):
    return dtype_of(obj)


def type_size_in_bytes(dtype):
    """Bytes of one element."""
    return dtype_of(dtype).itemsize


def dtype_to_nptype(type_):
    import numpy
    if type_ is bfloat16:
        return numpy.float32
    return numpy.dtype(type_.name).type


def dtype_to_pytype(type_):
    return {"bool": bool, "int": int, "uint": int, "float": float, "complex": complex}[type_.kind]


def is_floating(type_):
    return type_.kind == "float"


_ORDER = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}


def promote(a, b):
    """Common type of two operands. Source: mindspore ops/infer `promote`."""
    if a is b:
        return a
    if _ORDER[a.kind] != _ORDER[b.kind]:
        return a if _ORDER[a.kind] > _ORDER[b.kind] else b
    if a.kind == "float":
        return float32 if {a, b} == {float16, bfloat16} else max(a, b, key=lambda t: t.itemsize)
    if a.kind == "complex":
        return complex128
    if a.kind == b.kind == "int":
        return max(a, b, key=lambda t: t.itemsize)
    pair = {a, b}
    if uint8 in pair and (pair - {uint8}) <= set(int_type):
        other = (pair - {uint8}).pop()
        return int16 if other is int8 else other
    raise user_error(TypeError, "dtype:promotion",
                     "element types %s and %s do not combine" % (a.name, b.name),
                     "cast one of the operands")


_PYTHON = {"bool": bool_, "int": int64, "float": float32}


def __getattr__(name):
    """Names of Python's own types are types here as well; in this file they are Python's."""
    return _PYTHON[name] if name in _PYTHON else module_getattr(__name__)(name)
