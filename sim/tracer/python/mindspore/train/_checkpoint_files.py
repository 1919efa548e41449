"""Names, shapes and element types of the parameters in a checkpoint file; their contents are passed over.

Two formats: MindSpore's protocol buffer `Checkpoint` (.ckpt) and safetensors, whose head is JSON. A file of any size is read in pieces
of a few hundred bytes.
Source: mindspore/ccsrc/utils/checkpoint.proto (behaviour only), https://github.com/huggingface/safetensors (format).
Example: 8 bytes with the length of the head, then {"w": {"dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32]}}.
"""
import json
import os

MAX_HEAD_BYTES = 100 << 20
MAX_PARAMETERS = 1 << 20
MAX_NAME_BYTES = 1 << 16
TRAILER_BYTES = 17  # "crc_num" and a number, if the file has a check sum
_SAFE_TYPES = {"F64": "Float64", "F32": "Float32", "F16": "Float16", "BF16": "BFloat16", "I64": "Int64", "I32": "Int32", "I16": "Int16",
               "I8": "Int8", "U8": "UInt8", "U16": "UInt16", "U32": "UInt32", "U64": "UInt64", "BOOL": "Bool"}


def parameters_of(path):
    """[(name, shape, type as a .ckpt spells it)]; ValueError if the file is none of the two."""
    with open(path, "rb") as file:
        return _of_safetensors(file) if str(path).endswith(".safetensors") else _of_checkpoint(file)


# -- safetensors ------------------------------------------------------------------------------------
def _of_safetensors(file):
    size = int.from_bytes(_exactly(file, 8), "little")
    if size > MAX_HEAD_BYTES:
        raise ValueError("its head is longer than %d MiB" % (MAX_HEAD_BYTES >> 20))
    head = json.loads(_exactly(file, size))
    found = []
    for name, entry in head.items():
        if name != "__metadata__":
            found.append((name, _shape(entry["shape"]), _SAFE_TYPES[entry["dtype"]]))
    return found


def _shape(extents):
    if not all(isinstance(extent, int) and 0 <= extent < 1 << 62 for extent in extents):
        raise ValueError("a shape is no list of whole numbers")
    return tuple(extents)


# -- protocol buffer --------------------------------------------------------------------------------
def _of_checkpoint(file):
    end = os.fstat(file.fileno()).st_size
    if end >= TRAILER_BYTES:
        file.seek(end - TRAILER_BYTES)
        end -= TRAILER_BYTES if file.read(7) == b"crc_num" else 0
    shapes, types = {}, {}
    for field, at in _fields(file, 0, end):
        if field != 1:
            continue
        name, tensor = None, None
        for inner, place in _fields(file, *at):
            if inner == 1:
                name = _bytes(file, place).decode()
            elif inner == 2:
                tensor = place
        if name is None or tensor is None:
            continue  # scalars beside the parameters
        shape, kind = _tensor(file, tensor)
        before = shapes.get(name)  # large parameters come in several parts of the same shape
        shapes[name], types[name] = (shape if before is None else before), kind
        if len(shapes) > MAX_PARAMETERS:
            raise ValueError("it has more than %d parameters" % MAX_PARAMETERS)
    if end and not shapes:
        raise ValueError("it holds no parameter")
    return [(name, shapes[name], types[name]) for name in shapes]


def _tensor(file, place):
    extents, kind = [], ""
    for field, at in _fields(file, *place):
        if field == 1 and isinstance(at, int):
            extents.append(at)
        elif field == 1:
            data, position = _bytes(file, at), 0
            while position < len(data):
                number, position = _number(data, position)
                extents.append(number)
        elif field == 2:
            kind = _bytes(file, at).decode()
    return _shape([] if extents == [0] else extents), kind  # a scalar is written as one extent of nothing


def _bytes(file, place):
    begin, end = place
    if end - begin > MAX_NAME_BYTES:
        raise ValueError("a name is longer than %d bytes" % MAX_NAME_BYTES)
    file.seek(begin)
    return _exactly(file, end - begin)


def _fields(file, at, end):
    """(field, number or (begin, end)) of a message that lies there; contents are not read."""
    while at < end:
        file.seek(at)
        head = file.read(min(20, end - at))
        key, used = _number(head, 0)
        value, used = _number(head, used)
        at += used
        if key & 7 == 0:
            yield key >> 3, value
        elif key & 7 == 2:
            if value > end - at:
                raise ValueError("a field is longer than the file")
            yield key >> 3, (at, at + value)
            at += value
        else:
            raise ValueError("a field of a type that does not occur in this format")


def _number(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number does not end")
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def _exactly(file, size):
    data = file.read(size)
    if len(data) != size:
        raise ValueError("it ends too early")
    return data
