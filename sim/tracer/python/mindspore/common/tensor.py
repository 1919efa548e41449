"""Tensors: shape, element type, and either a value from Python or a place in the recorded graph."""
from mindspore._drydock import frames
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore._recording import values
from mindspore.common import dtype as mstype


_SHOWN = ("str", "format")  # a value that is only printed decides nothing


class Tensor:
    """See mindspore.Tensor. Never holds more than a small value; shapes are Python tuples."""

    steps = 1              # steps for which a row of a data set stands
    _computed = None       # (program, value id) of a result outside of any network: its numbers may be known
    _open = None           # shape with open extents (None, Symbol) of a tensor that stands for an input
    _part_of = None        # (tensor, index) of what x[index] gave
    __array_ufunc__ = None  # numpy arrays leave mixed arithmetic to this class

    def __init__(self, input_data=None, dtype=None, shape=None, init=None, const_arg=False,
                 device=None):
        self._node = None      # (program, value id) of a recorded tensor
        self._source = None    # Python data of a constant: number, nested list or array
        self._initializer = init
        self.param_name = ""
        dtype = mstype.dtype_of(dtype)
        if input_data is None:
            if shape is None:
                raise user_error(ValueError, "Tensor:no-data", "Tensor() needs data or a shape")
            self._open = values.open_extents(shape)
            self._shape = (tuple(-1 if type(item) is not int else item for item in shape) if self._open else
                           values.shape_of_argument(shape))
            self._dtype = dtype or mstype.float32
            return
        if isinstance(input_data, Tensor):
            self._shape, self._dtype = input_data._shape, dtype or input_data._dtype
            self._node, self._source = input_data._node, input_data._source
            if dtype is not None and dtype is not input_data._dtype:
                self._node = None
            else:
                self._computed = input_data._computed
            return
        self._shape, found = values.describe(input_data)
        self._dtype = dtype or found
        if values.count(self._shape) <= values.MAX_KEPT_ELEMENTS:
            self._source = input_data

    def __getattr__(self, name):
        if name in tensor_methods.FACTS:
            return tensor_methods.FACTS[name]
        if not name.startswith("_"):
            from mindspore._drydock import names, remedies
            if names.has_method("mindspore.Tensor", name):
                return tensor_methods.unlisted(self, name)
        error = AttributeError("'%s' object has no attribute '%s'" % (type(self).__name__, name))
        error.drydock_hint = "" if name.startswith("_") else (
            remedies.OF_TENSORS.get(name) or names.nearest(("mindspore.Tensor",), name))
        raise error

    # -- facts --------------------------------------------------------------------------------------
    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def ndim(self):
        return len(self._shape)

    rank = ndim

    @property
    def size(self):
        return values.count(self._shape)

    @property
    def itemsize(self):
        return self._dtype.itemsize

    @property
    def nbytes(self):
        return self.size * self.itemsize

    @property
    def strides(self):
        steps, step = [], self.itemsize
        for extent in reversed(self._shape):
            steps.append(step)
            step *= extent
        return tuple(reversed(steps))

    @property
    def has_init(self):
        return self._initializer is not None

    @property
    def init(self):
        return self._initializer

    @property
    def T(self):
        return self.transpose()

    @property
    def mT(self):
        return self.swapaxes(-1, -2)

    H = T
    mH = mT

    @property
    def data(self):
        return self

    def dim(self):
        return self.ndim

    def numel(self):
        return self.size

    def init_data(self, *args, **kwargs):
        return self

    def is_contiguous(self):
        return True

    # -- values -------------------------------------------------------------------------------------
    def _known(self):
        """True if the value came from Python and is held."""
        return self._source is not None and self._node is None

    def _flat(self, what):
        """Elements, row major; zeros for results outside of a traced function that more than numbers of the script decide."""
        if self._known():
            return values.flat(self._source, self._dtype)
        if self._computed is not None and self._node is None:
            program, value_id = self._computed
            found = program.numbers_of(value_id)
            if found is not None and values.can_hold(found, self._dtype):
                return values.rounded(found, self._dtype)
        if session.depth > 0 and self._node is not None:
            raise Unsupported("Tensor." + what,
                              "the value of a tensor is needed while the network is being recorded ('%s')"
                              % what, "a dry run knows shapes, not values; compute with operators instead")
        session.read_zeros = session.read_zeros or what not in _SHOWN
        return values.zeros(self._shape, self._dtype)

    def __array__(self, dtype=None, copy=None):
        array = self.asnumpy()
        return array if dtype is None else array.astype(dtype)

    def asnumpy(self):
        return values.as_array(self._flat("asnumpy"), self._shape, self._dtype)

    numpy = asnumpy

    def tolist(self):
        return values.nest(self._flat("tolist"), self._shape)

    def item(self, index=None):
        flat = self._flat("item")
        if index is None and len(flat) != 1:
            raise user_error(ValueError, "Tensor:item", "item() needs an index for a tensor of shape %s"
                             % (self._shape,))
        if isinstance(index, tuple):
            offset = 0
            for position, extent in zip(index, self._shape):
                offset = offset * extent + position
            index = offset
        return flat[index or 0]

    def _scalar(self, what):
        if self.size != 1:
            raise user_error(ValueError, "Tensor:scalar",
                             "a tensor of shape %s is not a single number" % (self._shape,))
        return self._flat(what)[0]

    def __float__(self):
        return float(self._scalar("float"))

    def __int__(self):
        return int(self._scalar("int"))

    def __index__(self):
        return int(self._scalar("index"))

    def __bool__(self):
        if self._node is not None:
            if session.depth > 0:
                if self.size != 1:
                    raise user_error(ValueError, "Tensor:scalar", "a tensor of shape %s is not a single truth value"
                                     % (self._shape,))
                from mindspore._recording import branches
                return branches.decide(self)
            session.warn_limit("a branch at %s depends on a computed value; a dry run takes it as zero"
                         % frames.place_text(frames.user_place()))
        return bool(self._scalar("bool"))

    def __format__(self, spec):
        return format(self._flat("format")[0] if self.size == 1 and spec else str(self), spec)

    def __str__(self):
        if self._node is not None and session.depth > 0:
            return "Tensor(shape=%s, dtype=%s)" % (list(self._shape), self._dtype)
        if self.size == 1:
            return str(values.nest(self._flat("str"), self._shape))
        return "Tensor(shape=%s, dtype=%s)" % (list(self._shape), self._dtype)

    def __repr__(self):
        if self.size == 1 and (self._node is None or session.depth == 0):
            return "Tensor(shape=%s, dtype=%s, value=%s)" % (list(self._shape), self._dtype, self)
        return "Tensor(shape=%s, dtype=%s)" % (list(self._shape), self._dtype)

    def __len__(self):
        if not self._shape:
            raise user_error(TypeError, "Tensor:len", "len() of a tensor without dimensions")
        return self._shape[0]

    def __iter__(self):
        if not self._shape:
            raise user_error(TypeError, "Tensor:iteration", "iteration over a tensor without dimensions")
        return (self[i] for i in range(self._shape[0]))

    def __hash__(self):
        return id(self)

    def __deepcopy__(self, memo):
        return self._copy_as(type(self))

    def _copy_as(self, kind):
        copied = kind.__new__(kind)
        copied.__dict__.update(self.__dict__)
        return copied

    # -- data ---------------------------------------------------------------------------------------
    def set_dtype(self, dtype):
        self._dtype, self._computed = mstype.dtype_of(dtype), None
        return self

    def assign_value(self, value):
        return self

    def flush_from_cache(self):
        return None

    def copy(self):
        return self

    def clone(self, *args, **kwargs):
        return self

    def contiguous(self):
        if session.depth == 0 or self._known():
            return self
        from mindspore.ops.primitive import operator
        return operator("Contiguous")(self)

    def value(self):
        return self

    @staticmethod
    def from_numpy(array):
        return Tensor(array)


def recorded(program, value_id, shape, dtype):
    """The tensor of a value of a recorded graph."""
    tensor = Tensor.__new__(Tensor)
    tensor._node = (program, value_id)
    tensor._source = None
    tensor._initializer = None
    tensor.param_name = ""
    tensor._shape = tuple(shape)
    tensor._dtype = dtype
    return tensor


def tensor(input_data=None, dtype=None, shape=None, init=None, const_arg=False, device=None):
    return Tensor(input_data, dtype, shape, init, const_arg, device)


def from_numpy(array):
    return Tensor(array)


def frombuffer(buffer, dtype=None, count=-1, offset=0):
    """The bytes of a buffer as a row of numbers."""
    import numpy  # a script that has a buffer of numbers has it
    kind = mstype.dtype_to_nptype(mstype.dtype_of(dtype, mstype.float32))
    return Tensor(numpy.frombuffer(buffer, kind, count, offset))


from mindspore.common import tensor_methods  # noqa: E402  (installs operators and methods)

tensor_methods.install(Tensor)

__getattr__ = module_getattr(__name__)
