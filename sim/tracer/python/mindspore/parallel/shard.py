"""Layout of a tensor on a device grid, and shard() of functions. Source: spec tracing-frontend 6."""
import copy

from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr


def _fail(kind, detail, message):
    raise user_error(kind, "Layout:" + detail, message)


class Layout:
    """Device grid with named axes; calling it with axis names says how a tensor is cut."""

    def __init__(self, device_matrix, alias_name, rank_list=None):
        _check_grid(device_matrix, alias_name)
        count = 1
        for extent in device_matrix:
            count *= extent
        if rank_list is not None:
            if not isinstance(rank_list, list) or any(type(rank) is not int for rank in rank_list):
                _fail(TypeError, "rank-list-type", "rank_list must be a list of ints")
            if len(rank_list) != count or len(set(rank_list)) != count:
                _fail(ValueError, "rank-list-length", "rank_list must hold %d different ranks" % count)
        self._device_matrix = device_matrix
        self._alias_name = alias_name
        self._rank_list = list(range(count)) if rank_list is None else rank_list
        self._tensor_map = None

    def __call__(self, *tensor_map):
        used = set()
        self._tensor_map = tuple(self._entry(item, used) for item in tensor_map)
        return copy.deepcopy(self)

    def _entry(self, item, used):
        if isinstance(item, tuple):
            return tuple(self._axis(name, used) for name in item)
        return self._axis(item, used)

    def _axis(self, name, used):
        if not isinstance(name, str):
            _fail(TypeError, "map-type", "a layout is called with axis names, not %r" % (name,))
        if name == "None":
            return -1
        if name not in self._alias_name:
            _fail(ValueError, "unknown-alias", "axis '%s' is none of %s" % (name, self._alias_name))
        if name in used:
            _fail(ValueError, "repeated-alias", "axis '%s' cuts two dimensions" % name)
        used.add(name)
        return len(self._alias_name) - 1 - self._alias_name.index(name)

    def to_dict(self):
        if self._tensor_map is None:
            _fail(ValueError, "no-map", "the layout was never called with axis names")
        return {"device_matrix": self._device_matrix, "tensor_map": self._tensor_map,
                "interleaved_parallel": "interleaved_parallel" in self._alias_name,
                "alias_name": self._alias_name, "rank_list": self._rank_list}


def _check_grid(device_matrix, alias_name):
    if not isinstance(device_matrix, tuple) or any(type(extent) is not int for extent in device_matrix):
        _fail(TypeError, "device-matrix-type", "device_matrix must be a tuple of ints, not %r" % (device_matrix,))
    if not isinstance(alias_name, tuple) or any(not isinstance(name, str) for name in alias_name):
        _fail(TypeError, "alias-type", "alias_name must be a tuple of texts, not %r" % (alias_name,))
    if len(device_matrix) != len(alias_name):
        _fail(ValueError, "alias-length", "device_matrix %s and alias_name %s differ in length"
              % (device_matrix, alias_name))
    if any(extent < 1 for extent in device_matrix):
        _fail(ValueError, "device-matrix-extent", "device_matrix %s has an extent below 1" % (device_matrix,))
    for name in alias_name:
        if not name or name == "None":
            _fail(ValueError, "alias-name", "an axis must not be called %r" % name)
    if len(set(alias_name)) != len(alias_name):
        _fail(ValueError, "alias-repeated", "an axis name occurs twice in %s" % (alias_name,))
    if "interleaved_parallel" in alias_name[:-1]:
        _fail(ValueError, "alias-interleaved", "'interleaved_parallel' must be the last axis")


def shard(fn, in_strategy, out_strategy=None, parameter_plan=None, device="Ascend", level=0):
    """Strategy of a primitive; functions and cells as a whole are not supported yet."""
    from mindspore.ops.primitive import Primitive
    if isinstance(fn, Primitive):
        return fn.shard(in_strategy, out_strategy)
    raise Unsupported("mindspore.shard", "shard() of a function or Cell is not supported",
                      "call shard() of the primitives inside of it")


def reshard(tensor, layout):
    if not isinstance(layout, Layout):
        _fail(TypeError, "reshard", "reshard() takes a mindspore.parallel.Layout, not %s" % type(layout).__name__)
    raise Unsupported("mindspore.parallel.reshard")


__getattr__ = module_getattr(__name__)
