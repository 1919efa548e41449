"""Shape arithmetic that Python code of the stand-in needs before it can record anything."""
from mindspore._drydock.errors import user_error


def broadcast(what, shapes):
    """Common shape of right-aligned shapes whose extents are equal or 1."""
    rank = max(len(shape) for shape in shapes)
    result = []
    for dim in range(rank):
        extent = 1
        for shape in shapes:
            position = dim - (rank - len(shape))
            size = shape[position] if position >= 0 else 1
            if size != 1 and extent not in (1, size):
                raise user_error(ValueError, what + ":broadcast",
                                 "shapes %s of '%s' do not broadcast" % (", ".join(map(str, shapes)), what))
            extent = size if size != 1 else extent
        result.append(extent)
    return tuple(result)
