"""mindspore.numpy: functions that have a form in mindspore.ops, under numpy's names."""
from mindspore._drydock.lazy import module_getattr

_NAMES = {"array": "tensor", "concatenate": "concat", "power": "pow", "absolute": "abs"}


def split(x, indices_or_sections, axis=0):
    """Equal parts, or parts between the given positions."""
    from mindspore import ops
    extent = x.shape[axis]
    if isinstance(indices_or_sections, int):
        return list(ops.split(x, extent // indices_or_sections, axis))
    edges = [0] + list(indices_or_sections) + [extent]
    return list(ops.split(x, [b - a for a, b in zip(edges, edges[1:])], axis))


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    import mindspore
    from mindspore import ops
    if name == "array":
        return mindspore.tensor
    found = getattr(ops, _NAMES.get(name, name), None) if name.islower() else None
    return found or module_getattr(__name__)(name)


