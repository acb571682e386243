"""What the compiler makes of the functions of `handrail.vectors`, and of operators on vectors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable

from handrail.vectors import (
    LANES,
    first_with,
    greatest,
    larger,
    load,
    root,
    splat,
    store,
    total,
    within,
    without,
)

__all__: list[str] = []

_REGISTER = ir.VectorType(ir.DoubleType(), LANES)
_WORD = ir.IntType(32)
_INDEX = ir.IntType(64)
_tools: Any = cgutils


class _Vector(types.Type):
    """The type of a vector in compiled code."""

    def __init__(self) -> None:
        super().__init__(name="handrail.vectors")


_VECTOR = _Vector()


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _REGISTER)  # type: ignore[no-untyped-call]


def _compile(function: Callable[..., Any], result: Any, *kinds: Any) -> Callable[..., Any]:
    """Register what the compiler does for a function of these kinds of values."""

    def typed(*given: Any) -> Any:
        fit = (
            isinstance(one, kind) if isinstance(kind, type) else one == kind
            for one, kind in zip(given, kinds, strict=True)
        )
        return result if all(fit) else None

    names = "abcd"[: len(kinds)]
    parameters = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
    typed.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    lower: Any = lower_builtin
    type_callable(function)(lambda context: typed)
    return cast(Callable[..., Any], lower(function, *kinds))


def _address(context: Any, builder: Any, kinds: Any, given: Any) -> Any:
    """Return where in an array a vector is: kinds and values are the array's and the indices'."""
    indices = [
        context.cast(builder, value, kind, types.intp)
        for value, kind in zip(given[1:], kinds[1:], strict=True)
    ]
    array = context.make_array(kinds[0])(context, builder, given[0])
    place = _tools.get_item_pointer(context, builder, kinds[0], array, indices, wraparound=False)
    return builder.bitcast(place, _REGISTER.as_pointer())


def _spread(builder: Any, value: Any) -> Any:
    nothing = ir.Constant(_REGISTER, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(_WORD, 0))
    everywhere = ir.Constant(ir.VectorType(_WORD, LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, everywhere)


@_compile(load, _VECTOR, types.Array, types.Integer)
@_compile(load, _VECTOR, types.Array, types.Integer, types.Integer)
def _load(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    return builder.load(_address(context, builder, signature.args, given), align=8)


@_compile(store, types.void, _VECTOR, types.Array, types.Integer)
@_compile(store, types.void, _VECTOR, types.Array, types.Integer, types.Integer)
def _store(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    address = _address(context, builder, signature.args[1:], given[1:])
    builder.store(given[0], address, align=8)
    return context.get_dummy_value()


@_compile(splat, _VECTOR, types.float64)
def _splat(_: Any, builder: Any, signature: Any, given: Any) -> Any:
    return _spread(builder, given[0])


@_compile(root, _VECTOR, _VECTOR)
def _root(_: Any, builder: Any, signature: Any, given: Any) -> Any:
    kind = ir.FunctionType(_REGISTER, [_REGISTER])
    name = f"llvm.sqrt.v{LANES}f64"
    return builder.call(_tools.get_or_insert_function(builder.module, kind, name), given)


@_compile(larger, _VECTOR, _VECTOR, _VECTOR)
def _larger(_: Any, builder: Any, signature: Any, given: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", *given), given[1], given[0])


@_compile(total, types.float64, _VECTOR)
def _total(_: Any, builder: Any, signature: Any, given: Any) -> Any:
    parts = [builder.extract_element(given[0], ir.Constant(_WORD, i)) for i in range(LANES)]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [builder.fadd(parts[i], parts[i + half]) for i in range(half)]
    return parts[0]


@_compile(greatest, types.float64, _VECTOR)
def _greatest(_: Any, builder: Any, signature: Any, given: Any) -> Any:
    parts = [builder.extract_element(given[0], ir.Constant(_WORD, i)) for i in range(LANES)]
    while len(parts) > 1:
        half = len(parts) // 2
        pairs = [(parts[i], parts[i + half]) for i in range(half)]
        parts = [builder.select(builder.fcmp_ordered("<", a, b), b, a) for a, b in pairs]
    return parts[0]


@_compile(within, types.boolean, _VECTOR, types.float64)
def _within(_: Any, builder: Any, signature: Any, given: Any) -> Any:
    each = builder.fcmp_ordered("<=", given[0], _spread(builder, given[1]))
    bits = ir.IntType(LANES)
    return builder.icmp_unsigned("==", builder.bitcast(each, bits), ir.Constant(bits, -1))


@_compile(first_with, types.intp, _VECTOR, types.float64)
def _first_with(_: Any, builder: Any, signature: Any, given: Any) -> Any:
    each = builder.fcmp_ordered("==", given[0], _spread(builder, given[1]))
    bits = builder.zext(builder.bitcast(each, ir.IntType(LANES)), _INDEX)
    # One bit more than there are lanes ends the search.
    ended = builder.or_(bits, ir.Constant(_INDEX, 1 << LANES))
    return builder.cttz(ended, ir.Constant(ir.IntType(1), 1))


@_compile(without, _VECTOR, _VECTOR, types.Integer)
def _without(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    lane = context.cast(builder, given[1], signature.args[1], types.intp)
    everywhere = _spread(builder, builder.bitcast(lane, ir.DoubleType()))
    indices = ir.VectorType(_INDEX, LANES)
    each = ir.Constant(indices, list(range(LANES)))
    own = builder.icmp_unsigned("==", builder.bitcast(everywhere, indices), each)
    return builder.select(own, ir.Constant(_REGISTER, [-math.inf] * LANES), given[0])


def _define(sign: Callable[..., Any], instruction: str) -> None:
    """Let an operator work on two vectors, and on a number and a vector."""

    @_compile(sign, _VECTOR, _VECTOR, _VECTOR)
    def _both(_: Any, builder: Any, signature: Any, given: Any) -> Any:
        return getattr(builder, instruction)(*given)

    @_compile(sign, _VECTOR, types.float64, _VECTOR)
    def _one(_: Any, builder: Any, signature: Any, given: Any) -> Any:
        return getattr(builder, instruction)(_spread(builder, given[0]), given[1])


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")
_define(operator.truediv, "fdiv")
