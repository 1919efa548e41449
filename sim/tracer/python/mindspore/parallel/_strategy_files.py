"""Files that say how the parameters of a job are cut: read, merged, written, and asked which ranks hold the parts of a new cut.

Two formats: the protocol buffer `ParallelStrategyMap` and JSON with the same names. Both are decoded here, since a dry run needs no
protobuf package: of the wire format only whole numbers and length-delimited fields occur.
Source: mindspore/ccsrc/utils/node_strategy.proto, mindspore/python/mindspore/parallel/checkpoint_transform.py (behaviour only).
Example: on 4 ranks a weight of 8 rows cut in 4; a job of one rank needs the files of ranks 3, 2, 1 and 0.
"""
import glob
import json
import math
import os

from mindspore._drydock.errors import user_error
from mindspore.parallel import _transform

MAX_FILE_BYTES = 256 << 20
_LIMIT = 1 << 64
_GROUPS = ("dev_matrix", "tensor_map", "param_split_shape", "indices_offset")   # fields 1 to 4 of ParallelLayouts
_NUMBERS = ("field", "opt_weight_shard_step", "opt_weight_shard_size")         # fields 5 to 7


class _Numbers:
    """`dim` of a message that holds numbers alone."""

    def __init__(self, dim=()):
        self.dim = list(dim)


class ParallelLayouts:
    """How one parameter is cut: lists of one group of numbers (several of `tensor_map` for layouts with several axes)."""

    def __init__(self):
        for name in _GROUPS:
            setattr(self, name, [])
        for name in _NUMBERS:
            setattr(self, name, 0)


# -- wire format ------------------------------------------------------------------------------------
def _varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number does not end")
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _fields(data):
    """[(field, number or bytes)] of a message; ValueError if it is none."""
    found, at = [], 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 == 2:
            size, at = _varint(data, at)
            if size > len(data) - at:
                raise ValueError("a field is longer than the message")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError("a field of a type that does not occur in this format")
        found.append((key >> 3, value))
    return found


def _signed(value):
    return value - _LIMIT if value >= _LIMIT >> 1 else value


def _dims(data):
    """Numbers of field 1, one by one or packed."""
    numbers = []
    for field, value in _fields(data):
        if field == 1 and isinstance(value, int):
            numbers.append(_signed(value))
        elif field == 1:
            at = 0
            while at < len(value):
                number, at = _varint(value, at)
                numbers.append(_signed(number))
    return numbers


def _encode(field, value):
    """One field: a number, or a message or string as bytes."""
    def varint(number):
        number %= _LIMIT
        out = bytearray()
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        return bytes(out + bytes([number]))
    if isinstance(value, int):
        return varint(field << 3) + varint(value)
    return varint(field << 3 | 2) + varint(len(value)) + value


def _layout_bytes(layout):
    parts = [_encode(number, b"".join(_encode(1, dim) for dim in group.dim))
             for number, name in enumerate(_GROUPS, 1) for group in getattr(layout, name)]
    return b"".join(parts + [_encode(number, getattr(layout, name)) for number, name in enumerate(_NUMBERS, 5)])


def _layout_of(data):
    layout = ParallelLayouts()
    for field, value in _fields(data):
        if 1 <= field <= 4 and isinstance(value, bytes):
            getattr(layout, _GROUPS[field - 1]).append(_Numbers(_dims(value)))
        elif 5 <= field <= 7 and isinstance(value, int):
            setattr(layout, _NUMBERS[field - 5], _signed(value))
    return layout


class _File:
    """What one file holds: the stage, the strategies as they stand there, and the layouts by parameter."""

    def __init__(self, stage=0, strategies=None, layouts=None):
        self.stage, self.strategies, self.layouts = stage, strategies or [], layouts or {}


def _named(data):
    """(name, message) of an item."""
    parts = dict(_fields(data))
    return parts[1].decode("utf-8"), parts[2]


def _of_bytes(data):
    found = _File()
    for field, value in _fields(data):
        if field == 2:
            found.strategies.append(value)
            if len(found.strategies) == 1:
                found.stage = dict(_fields(_named(value)[1]))[1]
        elif field == 3:
            name, layout = _named(value)
            found.layouts[name] = _layout_of(layout)
    return found


def _of_json(data):
    document = json.loads(data.decode("utf-8"))
    strategies = document.get("parallel_strategy_item") or {}
    found = _File(next(iter(strategies.values()))["stage"] if strategies else 0, strategies)
    for name, item in document["parallel_layout_item"].items():
        layout = found.layouts[name] = ParallelLayouts()
        for key in _GROUPS:
            numbers = item.get(key, [])
            several = key == "tensor_map" and numbers and isinstance(numbers[0], list)
            setattr(layout, key, [_Numbers(part) for part in numbers] if several else [_Numbers(numbers)])
        for key in _NUMBERS:
            setattr(layout, key, int(item.get(key, 0)))
    return found


def _read(path, function="build_searched_strategy"):
    """The file; TypeError and ValueError as MindSpore gives them."""
    if not isinstance(path, str):
        raise user_error(TypeError, function + ":type", "%s() takes the name of a file, not %s" % (function, type(path).__name__))
    if not os.path.isfile(path) or not os.path.getsize(path):
        raise user_error(ValueError, function + ":file", "there is no strategy file '%s', or it is empty" % path,
                         "set strategy_ckpt_save_file in the job whose cuts are wanted")
    if os.path.getsize(path) > MAX_FILE_BYTES:
        raise user_error(ValueError, function + ":size", "strategy file '%s' has more than %d bytes" % (path, MAX_FILE_BYTES))
    with open(path, "rb") as file:
        data = file.read()
    try:
        return (_of_json if path.endswith(".json") else _of_bytes)(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise user_error(TypeError, function + ":format", "'%s' is not a strategy file: %s" % (path, error),
                         "names that end in .json are read as JSON, all others as a protocol buffer") from None


def build_searched_strategy(strategy_filename):
    """{parameter: ParallelLayouts} of a file."""
    return None if strategy_filename is None else _read(strategy_filename).layouts


def merge_pipeline_strategys(src_strategy_dirs, dst_strategy_file):
    """The files of all stages as one, in which the names of parameters begin with their stage."""
    if not os.path.isdir(src_strategy_dirs):
        raise user_error(NotADirectoryError, "merge_pipeline_strategys:folder", "'%s' is not a folder" % src_strategy_dirs)
    files = {ending: sorted(glob.glob(os.path.join(src_strategy_dirs, "*" + ending))) for ending in (".ckpt", ".json")}
    if files[".ckpt"] and files[".json"]:
        raise user_error(ValueError, "merge_pipeline_strategys:formats", "'%s' holds strategy files of both formats" % src_strategy_dirs)
    stages = {}
    for path in files[".ckpt"] or files[".json"]:
        found = _read(path, "merge_pipeline_strategys")
        if not found.strategies or not found.layouts:
            raise user_error(ValueError, "merge_pipeline_strategys:empty", "strategy file '%s' holds no strategies" % path)
        stages.setdefault(found.stage, found)
    folder = os.path.dirname(dst_strategy_file)
    if folder:
        os.makedirs(folder, exist_ok=True)
    merged = {"%d-%s" % (stage, name): layout for stage, found in stages.items() for name, layout in found.layouts.items()}
    if files[".ckpt"]:
        strategies = [one for found in stages.values() for one in found.strategies]
        _replace(dst_strategy_file, _bytes(1, strategies, merged))
    else:
        strategies = {name: one for found in stages.values() for name, one in found.strategies.items()}
        _replace(dst_strategy_file, json.dumps({"current_stage": 1, "parallel_strategy_item": strategies,
                                                "parallel_layout_item": {name: _item(one) for name, one in merged.items()}}).encode())


def _bytes(current_stage, strategies, layouts):
    return b"".join([_encode(1, current_stage)] + [_encode(2, one) for one in strategies] + [
        _encode(3, _encode(1, name.encode("utf-8")) + _encode(2, _layout_bytes(layout))) for name, layout in layouts.items()])


def _item(layout):
    groups = {name: [part.dim for part in getattr(layout, name)] for name in _GROUPS}
    item = {name: parts[0] if len(parts) == 1 else parts for name, parts in groups.items()}
    return dict(item, **{name: getattr(layout, name) for name in _NUMBERS})


def _replace(path, data):
    """Writes all or nothing."""
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.replace(path + ".new", path)


def save(path, stage, strategies, layouts):
    """Writes what a compile decided: {operator: cuts of its inputs} and {parameter: (matrix, map, slice, field, ..., group)}."""
    items = []
    for name, cuts in strategies.items():
        parts = b"".join(_encode(2, b"".join(_encode(1, part) for part in cut)) for cut in cuts)
        items.append(_encode(1, name.encode("utf-8")) + _encode(2, _encode(1, stage) + parts))
    found = {name: _compiled(layout) for name, layout in layouts.items()}
    if path.endswith(".json"):
        document = {"current_stage": 0, "parallel_layout_item": {name: _item(one) for name, one in found.items()},
                    "parallel_strategy_item": {name: {"stage": stage, "parallel_strategy": cuts} for name, cuts in strategies.items()}}
        return _replace(path, json.dumps(document).encode())
    return _replace(path, _bytes(0, items, found))


def _compiled(layout):
    """ParallelLayouts of a compiled parameter; its group of the optimizer is named by its size: '4-1301...'."""
    made = ParallelLayouts()
    matrix, tensor_map = list(layout[0]), list(layout[1])
    made.dev_matrix, made.param_split_shape, made.indices_offset = [_Numbers(matrix)], [_Numbers()], [_Numbers()]
    several = any(isinstance(entry, (list, tuple)) for entry in tensor_map)
    made.tensor_map = [_Numbers(entry if isinstance(entry, (list, tuple)) else [entry]) for entry in tensor_map] if several else [
        _Numbers(tensor_map)]
    made.field = int(layout[3])
    group = layout[5] if len(layout) > 5 else ""
    if group:
        size = group.partition("-")[0]
        used = {axis for entry in tensor_map for axis in (entry if isinstance(entry, (list, tuple)) else [entry])}
        made.opt_weight_shard_step = 1
        for axis, extent in enumerate(reversed(matrix)):
            if axis not in used and extent > 1:
                break
            made.opt_weight_shard_step *= extent
        whole = 1
        for axis, extent in enumerate(reversed(matrix)):
            whole *= extent if axis not in used else 1
        made.opt_weight_shard_size = int(size) if size.isdigit() else whole  # the group of all ranks has no number
    return made


# -- which ranks hold what --------------------------------------------------------------------------
def _of_file(layout):
    """(matrix, tensor map, step and number of the optimizer's shards)."""
    maps = [list(part.dim) for part in layout.tensor_map]
    return list(layout.dev_matrix[0].dim), maps[0] if len(maps) == 1 else maps, layout.opt_weight_shard_step, layout.opt_weight_shard_size


def _devices(layout):
    return math.prod(layout.dev_matrix[0].dim)


def _needed(rank, source, target):
    """Ranks of the source's stage that a redistribution to the new cut reads, as MindSpore plans it: not always the fewest."""
    matrix, tensor_map, step, size = source
    new_matrix, new_map, new_step, new_size = target or ([1], [-1] * len(tensor_map), 0, 0)
    cuts = _transform._get_tensor_strategy(matrix, tensor_map)
    devices = math.prod(matrix)
    size = devices // math.prod(cuts) if size == -1 else size
    new_size = math.prod(new_matrix) // math.prod(_transform._get_tensor_strategy(new_matrix, new_map)) if new_size == -1 else new_size
    shape = [cut * max(devices, math.prod(new_matrix)) for cut in cuts]  # files hold no shapes: one that every cut divides
    shape[:1] = [extent * max(size, 1) for extent in shape[:1]]
    before, after = (_transform._construct_tensor_layout_for_opt_shard(*layout, shape)
                     for layout in ((matrix, tensor_map, step, size), (new_matrix, new_map, new_step, new_size)))
    before, after = _transform._construct_from_to_tensor_layout(before[2], *before[:2], after[2], *after[:2])
    return {other % devices for other in _transform._get_needed_rank_list_by_layouts(before, after, range(math.prod(before[0])), rank)}


def _by_name(layouts):
    """{parameter: (layout, stages)}; merged files have the stage in front of the name."""
    found = {}
    for name, layout in layouts.items():
        stage, dash, plain = name.partition("-")
        stage, plain = (int(stage), plain) if dash and stage.isdigit() else (0, name)
        kept, stages = found.get(plain, (layout, []))
        found[plain] = (kept, stages + [stage])
    return found


def rank_list_for_transform(rank_id, src_strategy_file=None, dst_strategy_file=None):
    """The ranks of a former job whose files hold what a rank of a new one needs, last first."""
    if isinstance(rank_id, bool) or not isinstance(rank_id, int):
        raise user_error(TypeError, "rank_list_for_transform:rank_id", "rank_id must be a whole number, not %r" % (rank_id,))
    if src_strategy_file is None:
        return [0]
    source = _by_name(_read(src_strategy_file, "rank_list_for_transform").layouts)
    if not source:
        raise user_error(ValueError, "rank_list_for_transform:empty", "strategy file '%s' holds no layouts" % src_strategy_file)
    target = None
    devices = 1
    if dst_strategy_file is not None:
        target = _by_name(_read(dst_strategy_file, "rank_list_for_transform").layouts)
        devices = next((_devices(layout) for layout, _ in target.values()), 1)
        gone = {name for name, (_, stages) in target.items() if rank_id // devices not in stages}
        target = {name: entry for name, entry in target.items() if name not in gone}
        source = {name: entry for name, entry in source.items() if name not in gone}
    return _holders(rank_id % devices if devices > 1 else rank_id, source, target)


def _holders(local_rank, source, target):
    needed, stages, known = set(), set(), set()
    for name, (layout, found) in source.items():
        stages.update(found)
        if target is None or name in target:
            cuts = _of_file(layout), _of_file(target[name][0]) if target is not None else None
            if repr(cuts) not in known:
                known.add(repr(cuts))
                needed |= _needed(local_rank, *cuts)
    per_stage = next((_devices(layout) for layout, _ in source.values()), 1)
    return sorted({stage * per_stage + rank for stage in stages for rank in needed}, reverse=True)


def _alike(layout, position):
    """Places in the stage whose part of a parameter is the one at `position`: the same slice and, where its group
    ("2-...") says that the optimizer shards it, the same shard."""
    matrix, tensor_map, group = layout[0], layout[1], layout[5]
    axes = {axis for entry in tensor_map for axis in (entry if isinstance(entry, (list, tuple)) else [entry]) if axis >= 0}
    strides, stride = {}, 1
    for axis, extent in enumerate(reversed(matrix)):
        if axis in axes:
            strides[axis] = (stride, extent)
        stride *= extent

    def part(place):
        return [place // step % extent for step, extent in strides.values()]

    alike = [place for place in range(stride) if part(place) == part(position)]
    count = group.partition("-")[0]
    shards = int(count) if count.isdigit() else len(alike) if group else 1  # the group of all ranks has a name of its own
    at = alike.index(position)
    return {place for i, place in enumerate(alike) if i % shards == at % shards}


def save_groups(path, layouts, rank, per_stage):
    """The ranks that hold the same parameters as `rank`, as MindSpore writes them for checkpoints.

    Source: mindspore/ccsrc/frontend/parallel/strategy_checkpoint/parallel_strategy_checkpoint.cc (SaveGroupInfo)
    """
    same = set(range(per_stage))
    for layout in layouts:
        same &= _alike(layout, rank % per_stage)
    begin = rank - rank % per_stage
    message = _encode(2, b"".join(_encode(1, begin + place) for place in sorted(same)))
    with open(path, "wb") as file:
        file.write(message)


def restore_group_info_list(group_info_file_name):
    """The ranks that hold the same parameters as the rank that wrote the file."""
    if not isinstance(group_info_file_name, str):
        raise user_error(TypeError, "restore_group_info_list:type", "restore_group_info_list() takes the name of a file")
    if not os.path.isfile(group_info_file_name) or not os.path.getsize(group_info_file_name):
        raise user_error(ValueError, "restore_group_info_list:file", "there is no file '%s', or it is empty" % group_info_file_name)
    with open(group_info_file_name, "rb") as file:
        data = file.read(MAX_FILE_BYTES)
    try:
        return [rank for field, value in _fields(data) if field == 2 for rank in _dims(value)]
    except (ValueError, TypeError) as error:
        raise user_error(ValueError, "restore_group_info_list:format", "'%s' is not a file of groups: %s"
                         % (group_info_file_name, error)) from None
