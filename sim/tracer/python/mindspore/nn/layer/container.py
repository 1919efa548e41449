"""CellList and SequentialCell."""
import itertools
from collections import OrderedDict

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.cell import Cell


class _Sequence(Cell):
    """A cell whose children are numbered."""

    def _insert_all(self, cells):
        for cell in cells:
            self._add(cell)

    def _add(self, cell):
        if not isinstance(cell, Cell):
            raise user_error(TypeError, "CellList:item", "%s holds Cells, not %s"
                             % (type(self).__name__, type(cell).__name__))
        name = str(len(self._cells))
        if self._auto_prefix:
            cell.update_parameters_name(self._list_prefix() + name + ".")
        self._cells[name] = cell

    def _list_prefix(self):
        """What earlier assignments put in front of the first child's parameter names.

        The child that has parameters is kept: lists of thousands of cells are looked through once.
        """
        known = self.__dict__.get("_named_child")
        count = len(self._cells)
        if known is None or known[1] > count or known[0] is not None and known[0] not in self._cells:
            known = (None, 0)
        names = [known[0]] if known[0] is not None else itertools.islice(self._cells, known[1], None)
        for name in names:
            for path, parameter in self._cells[name].parameters_and_names():
                tail = name + "." + path
                if parameter.name.endswith(tail):
                    self.__dict__["_named_child"] = name, count
                    return parameter.name[:-len(tail)]
        if known[0] is None:
            self.__dict__["_named_child"] = None, count
        return ""

    def _renumber(self, cells):
        self.__dict__.pop("_named_child", None)
        self._cells.clear()
        for i, cell in enumerate(cells):
            self._cells[str(i)] = cell

    @property
    def cell_list(self):
        return tuple(self._cells.values())

    def __len__(self):
        return len(self._cells)

    def __iter__(self):
        return iter(list(self._cells.values()))

    def __getitem__(self, index):
        cells = list(self._cells.values())
        if isinstance(index, str):
            return self._cells[index]
        if isinstance(index, slice):
            return type(self)(*cells[index]) if isinstance(self, SequentialCell) else type(self)(cells[index])
        if not -len(cells) <= index < len(cells):
            raise user_error(IndexError, "CellList:index", "index %d of a list of %d cells" % (index, len(cells)))
        return cells[index]

    def __setitem__(self, index, cell):
        names = list(self._cells)
        self.__dict__.pop("_named_child", None)
        self._cells[names[index]] = cell
        if self._auto_prefix:
            cell.update_parameters_name(self._list_prefix() + names[index] + ".")

    def __delitem__(self, index):
        cells = list(self._cells.values())
        del cells[index]
        self._renumber(cells)

    def append(self, cell):
        self._add(cell)
        return self

    def extend(self, cells):
        self._insert_all(cells)
        return self

    def insert(self, index, cell):
        cells = list(self._cells.values())
        cells.insert(index, cell)
        self._renumber(cells)
        if self._auto_prefix:
            cell.update_parameters_name(self._list_prefix() + str(index) + ".")


class CellList(_Sequence):
    """See mindspore.nn.CellList."""

    def __init__(self, *args, **kwargs):
        super().__init__(auto_prefix=kwargs.get("auto_prefix", True))
        if args:
            self._insert_all(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)

    def construct(self, *inputs):
        raise user_error(NotImplementedError, "CellList:call", "a CellList cannot be called")


class SequentialCell(_Sequence):
    """See mindspore.nn.SequentialCell."""

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, cell in args[0].items():
                self.insert_child_to_cell(name, cell)
                cell.update_parameters_name(name + ".")
        else:
            self._insert_all(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)

    def construct(self, input_data):
        for cell in self._cells.values():
            input_data = cell(input_data)
        return input_data


__getattr__ = module_getattr("mindspore.nn")
