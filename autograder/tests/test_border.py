"""The border: what crosses it, what is refused on either side, and that nothing is believed."""

import gc
import json
import math
import struct
import tracemalloc
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.kit import border
from autograder.kit.border import NotPlain, Record
from autograder.kit.calls import ArgumentsAfter, Call, Name, PeakMemory, Run


def across(value):
    """The value after both sides, by way of a frame."""
    tree, buffers = border.take_apart(value)
    data = border.frame({"value": tree}, buffers)
    head, payload = border.frame_lengths(data[: border.LENGTHS])
    body = data[border.LENGTHS :]
    assert len(body) == head + payload
    header, parts = border.open_frame(body[:head], body[head:])
    return border.put_together(header["value"], parts)


# --- what crosses -------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [
    None, True, 0, -5, 10**999, 0.1, -0.0, 1e308, 5e-324, "", "naïve \N{GRINNING FACE}\x00\n", [],
    (), {}, [1, (2.5, "x", [None])], {"a": {"b": [1]}, 2: 3, None: 4.5}, ((),), [[], ()],
])
def test_plain_values_come_back_with_their_types(value):
    back = across(value)
    assert back == value and repr(back) == repr(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_are_not_finite_cross_without_odd_json(value):
    assert repr(across([value])[0]) == repr(value)


@pytest.mark.parametrize("array", [
    np.arange(6.0).reshape(2, 3), np.array(1.5), np.zeros((0, 4)), np.arange(3, dtype=">i4"),
    np.array([True, False]), np.float16([1, np.nan]), np.longdouble([1]) / 3, np.uint8([255]),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(6.0)[::-2], np.ones((1,) * 8),
    np.broadcast_to(np.float32(2), (3, 4)),
])
def test_arrays_come_back_equal(array):
    back = across(array)
    assert back.shape == array.shape and back.dtype.kind == array.dtype.kind
    np.testing.assert_array_equal(back, array)


def test_arguments_keep_their_layout_and_their_lock():
    x = np.arange(24.0).reshape(4, 6)[::-1, ::2]
    x.flags.writeable = False
    back = across(x)
    assert back.strides == x.strides and not back.flags.writeable
    back = across(np.asfortranarray(np.ones((3, 4))))
    assert back.flags.f_contiguous and back.flags.writeable


def test_a_copy_is_the_receiver_s_own():
    x = np.zeros(3)
    back = across([x, x])
    back[0][0] = 1
    assert x[0] == back[1][0] == 0


def test_numpy_scalars_and_odd_numbers_are_numbers():
    class Half:
        def __float__(self):
            return 0.5

    assert across([np.float32(0.5), np.int64(3), np.bool_(True), Half()]) == [0.5, 3, True, 0.5]
    assert [type(v) for v in across([np.float64(1), np.uint8(1)])] == [float, int]


def test_an_object_crosses_as_its_public_numbers():
    class Counter:
        def __init__(self):
            self.read, self.write, self._secret, self.notes = 5, np.int64(7), 9, "text"

        @property
        def total(self):
            return self.read + self.write

    back = across(Counter())
    assert isinstance(back, Record) and repr(back) == "Counter(read=5, total=12, write=7)"
    assert not hasattr(back, "_secret") and not hasattr(back, "notes")


def test_a_named_tuple_is_a_tuple_with_names():
    back = across(namedtuple("State", "m l _hidden", rename=True)(1, 2.5, 3))
    assert tuple(back) == (1, 2.5, 3) and (back.m, back.l) == (1, 2.5)


def test_a_record_crosses_again_as_the_same_record():
    for value in (SimpleNamespace(read=5, flops=1.5), namedtuple("P", "a b")(1, [2])):
        once = across(value)
        twice = across(once)
        assert repr(twice) == repr(once) and tuple(twice) == tuple(once)
        assert vars(twice) == vars(once)


def test_requests_cross():
    call = Call("f", (np.ones(2), Name("gpu"), Call("g", (1,), {"x": None})), {"scale": 2.0})
    for request in (Run((call, call)), ArgumentsAfter(call), PeakMemory(call, call)):
        back = across(request)
        assert type(back) is type(request)
    assert across(call).args[2] == call.args[2] and across(call).kwargs == call.kwargs


# --- what is refused beside the submission ------------------------------------------------------


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def endless():
    class Endless(list):
        def __iter__(self):
            while True:
                yield 1

    return Endless()


def itself():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(("value", "said"), [
    (nested(100_000), "nested more than 32 deep"),
    (itself(), "nested more than 32 deep"),
    (endless(), "more than 100000 entries"),
    ([[0] * 60_000] * 2, "more than 100000 entries"),
    ({n: n for n in range(100_001)}, "more than 100000 entries"),
    (10**1010, "more than 1000 digits"),
    ([10**999] * 1000, "more than 500000 characters"),
    ("x" * 10_001, "a text of 10001 characters"),
    (["x" * 10_000] * 51, "more than 500000 characters"),
    (np.broadcast_to(1.0, (1000, 1000, 1000)), "arrays of 8000000000 bytes"),
    ([np.zeros(1 << 20)] * 3, "arrays of 25165824 bytes"),
    (np.array([object()]), "an array of dtype object"),
    (np.array(["text"]), "an array of dtype <U4"),
    (np.zeros(2, complex), "an array of dtype complex128"),
    (np.zeros(2, [("a", "f8")]), "an array of dtype"),
    ((n for n in range(3)), "a generator, which is no plain value"),
    ({1, 2}, "a set"), (b"x", "a bytes"), (object(), "a object"),
    (print, "a builtin_function_or_method"), (SimpleNamespace, "a type"),
], ids=range(21))
def test_what_is_not_plain_is_refused_in_words(value, said):
    with pytest.raises(NotPlain, match=said):
        border.take_apart(value)


def test_a_lying_subclass_crosses_as_what_it_holds():
    class Text(str):
        def __len__(self):
            return 3

        def __str__(self):
            return self * 1000

    class Pairs(dict):
        def items(self):
            return [("a", 1)]

    class Equal(np.ndarray):
        def __eq__(self, other):
            return True

    back = across([Text("abc"), Pairs(b=2), np.ones(2).view(Equal)])
    assert back[:2] == ["abc", {"a": 1}] and type(back[2]) is np.ndarray
    with pytest.raises(NotPlain):
        border.take_apart(Text("x" * 10_001))


# --- what is refused in the grader --------------------------------------------------------------

BYTE = {"array": 0, "dtype": "|u1", "shape": [8]}


@pytest.mark.parametrize("tree", [
    {}, {"array": 0}, BYTE | {"array": 1}, BYTE | {"array": "0"}, BYTE | {"array": 1.5},
    BYTE | {"dtype": "|O"}, BYTE | {"dtype": "<f8,<f8"}, BYTE | {"dtype": []},
    BYTE | {"dtype": "float"}, BYTE | {"shape": [9]}, BYTE | {"shape": [-8]},
    BYTE | {"shape": [-2, -4]}, BYTE | {"shape": [2.0, 4]}, BYTE | {"shape": [True] * 8},
    BYTE | {"shape": [8] + [1] * 8}, BYTE | {"shape": {"8": 8}}, BYTE | {"shape": "8"},
    BYTE | {"shape": [0, 10**30]}, BYTE | {"steps": [1, 1]}, BYTE | {"steps": [0.5]},
    BYTE | {"steps": "1"}, BYTE | {"steps": [[1]]},
    {"float": "1.0"}, {"float": 5}, {"float": []}, {"dict": 5}, {"dict": []},
    {"dict": {"a": {}}}, {"pairs": 5}, {"pairs": [[1, 2, 3]]}, {"pairs": [[[1], 2]]},
    {"pairs": [[BYTE, 2]]}, {"pairs": "ab"}, {}, {"kind": "x", "record": {}},
    {"tuple": 5}, {"tuple": None},
    {"record": {}}, {"record": 5, "kind": "x"}, {"record": [["a", 5]], "kind": "x"},
    {"record": {"__array_interface__": 5}, "kind": "x"}, {"record": {"_kind": 5}, "kind": "x"},
    {"record": {"__class__": 5}, "kind": "x"}, {"record": {}, "kind": {}},
    {"record": {}, "kind": "x", "entries": 5}, {"call": 5, "args": [], "kwargs": {}},
    {"call": "f", "args": 5, "kwargs": {}}, {"call": "f"},
    {"call": "f", "args": [], "kwargs": [1]}, {"request": "Popen", "parts": []},
    {"request": "Run", "parts": []}, {"request": "Run", "parts": 5}, {"name": 5}, {"name": None},
    "x" * 10_001, {"dict": {"x" * 10_001: 1}}, {"pairs": [["x" * 10_001, 1]]},
])
def test_a_tree_that_no_honest_worker_sends_is_refused(tree):
    with pytest.raises(NotPlain):
        border.put_together(tree, [bytes(8)])


@pytest.mark.parametrize("steps", [[1], [-1], [3], [0], [1 << 50], [-(1 << 50)]])
def test_steps_never_reach_outside_of_an_array_s_own_memory(steps):
    back = border.put_together({"array": 0, "dtype": "|u1", "shape": [8], "steps": steps},
                               [bytes(range(8))])
    base = back
    while base.base is not None:
        base = base.base
    assert back.shape == (8,) and np.shares_memory(back, base)
    byte_bounds = getattr(np, "byte_bounds", None) or np.lib.array_utils.byte_bounds  # numpy 1
    (low, high), (start, end) = byte_bounds(back), byte_bounds(base)
    assert start <= low and high <= end
    assert steps == [0] or back.tolist() == list(range(8))


def test_numpy_does_not_obey_a_record():
    tree = {"record": {"array_interface": 5, "dtype": 1, "shape": 2}, "kind": "x"}
    record = border.put_together(tree, [])
    assert np.asarray(record).shape == (0,)


def frame(text, payload=b""):
    text = text if isinstance(text, bytes) else text.encode()
    return text, payload


@pytest.mark.parametrize(("text", "payload"), [
    frame(""), frame("null"), frame("[]"), frame('"x"'), frame("5"), frame("{}"), frame(b"\xff"),
    frame("{"), frame("[" * 100_000), frame('{"a":' * 100_000), frame('{"sizes": null}'),
    frame('{"sizes": 5}'), frame('{"sizes": "x"}', b"x"), frame('{"sizes": [2]}', b"x"),
    frame('{"sizes": [-1, 2]}', b"x"), frame('{"sizes": [1.0]}', b"x"),
    frame('{"sizes": [true]}', b"x"), frame('{"sizes": [[1]]}', b"x"),
    frame('{"sizes": {"a": 1}}', b"x"), frame('{"sizes": []}', b"x"),
    frame('{"x": %s, "sizes": []}' % ("9" * 4301)),
    frame('{"x": -%s, "sizes": []}' % ("9" * 2_000_000)),
    frame('{"sizes": [], "x": [%s[]]}' % ("[]," * 1_100_000)),
    frame('{"sizes": [], "x": [%s0]}' % ("0," * 1_100_000)),
])
def test_a_frame_that_is_malformed_is_refused(text, payload):
    with pytest.raises(NotPlain):
        border.open_frame(text, payload)


@pytest.mark.parametrize("lengths", [
    (border.HEADER + 1, 0), (0, border.BYTES + 1), (2**32 - 1, 2**32 - 1)])
def test_a_frame_that_announces_too_much_is_refused_before_it_is_read(lengths):
    with pytest.raises(NotPlain, match="an answer of"):
        border.frame_lengths(struct.pack("<II", *lengths))
    assert border.frame_lengths(struct.pack("<II", *lengths), trusted=True) == lengths


@pytest.mark.parametrize("bomb", [
    '{"sizes": [], "value": [%s[]]}' % ("[]," * 900_000),
    '{"sizes": [], "value": [%s{}]}' % ("{}," * 900_000),
    '{"sizes": [], "value": [%s{}]}' % ("{}," * 2_700_000),
    '{"sizes": [1048576], "value": [%s0]}' % (
        '{"array": 0, "dtype": "|u1", "shape": [1048576]},' * 100_000),
    '{"sizes": [1048576], "value": [%s0]}' % (
        '{"array": 0, "dtype": "|u1", "shape": [1048576], "steps": [15]},' * 80_000),
])
def test_the_worst_answer_takes_little_of_the_grader_s_memory(bomb):
    payload = bytes(1 << 20) if "[1048576]" in bomb else b""
    gc.collect()
    tracemalloc.start()
    try:
        header, buffers = border.open_frame(bomb.encode(), payload)
        border.put_together(header["value"], buffers)
    except NotPlain:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 250 << 20


def test_the_largest_honest_answer_fits_a_frame():
    value = [["x" * 4] * 300, [0.1234567890123456] * 98_000, np.zeros(1 << 20)]
    assert len(json.dumps(border.take_apart(value)[0])) < border.HEADER
    assert across(value)[1] == value[1]
