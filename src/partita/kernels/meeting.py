"""Threads that meet inside compiled code: waking one takes 100 microseconds, as long as the work.

Work is in phases of numbered tasks; a thread takes the next one, so that nobody waits for a thread
that the machine does not let run, unless it is in the middle of a task. Tasks are taken from both
ends, so that a thread mostly has those that it had in the last step, and finds its memory in its
own cache. Whoever waits looks at a counter again and again, and lets others run now and then.
Counters only grow; each has a cache line of its own.
"""

import sys
import threading
import time

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

from partita.kernels.jit import borrowing

N_CELLS = 24
TICKETS, DONE, STOPPED = 0, 8, 16
"""Places of the counters: the phase and what was taken, tasks that are done, and the end of all."""
N_BITS = 20
"""Of the number of tasks that were taken from either end of a phase."""
PATIENCE = 256
"""Looks after which others are let run."""

_lock = threading.Lock()


def add_to(counters, index, value):
    """Add to a counter, seen by all threads."""
    with _lock:
        counters[index] += value


def replaced(counters, index, old, new):
    """Replace a counter if it is still the old one; whether it was."""
    with _lock:
        is_old = counters[index] == old
        if is_old:
            counters[index] = new
    return is_old


def seen(counters, index):
    """A counter as all threads see it."""
    return counters[index]


def let_others_run():
    """Give the core to a thread that waits for one."""
    time.sleep(0)


@type_callable(add_to)
def _type_add_to(context):
    return lambda counters, index, value: types.void


@type_callable(replaced)
def _type_replaced(context):
    return lambda counters, index, old, new: types.boolean


@type_callable(seen)
def _type_seen(context):
    return lambda counters, index: types.int64


@type_callable(let_others_run)
def _type_let_others_run(context):
    return lambda: types.void


def _address(context, builder, array_type, array, index_type, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [context.cast(builder, index, index_type, types.intp)])


@lower_builtin(add_to, types.Array, types.Integer, types.Integer)
def _lower_add_to(context, builder, signature, arguments):
    (array_type, index_type, value_type), (array, index, value) = signature.args, arguments
    address = _address(context, builder, array_type, array, index_type, index)
    value = context.cast(builder, value, value_type, types.int64)
    builder.atomic_rmw("add", address, value, "seq_cst")
    return context.get_dummy_value()


@lower_builtin(replaced, types.Array, types.Integer, types.Integer, types.Integer)
def _lower_replaced(context, builder, signature, arguments):
    (array_type, index_type, *kinds), (array, index, *values) = signature.args, arguments
    address = _address(context, builder, array_type, array, index_type, index)
    old, new = (
        context.cast(builder, value, kind, types.int64)
        for value, kind in zip(values, kinds, strict=True)
    )
    found = builder.cmpxchg(address, old, new, "seq_cst", "seq_cst")
    return builder.extract_value(found, 1)


@lower_builtin(seen, types.Array, types.Integer)
def _lower_seen(context, builder, signature, arguments):
    (array_type, index_type), (array, index) = signature.args, arguments
    address = _address(context, builder, array_type, array, index_type, index)
    return builder.load_atomic(address, "seq_cst", 8)


@lower_builtin(let_others_run)
def _lower_let_others_run(context, builder, signature, arguments):
    if sys.platform != "win32":
        name = "sched_yield"
        kind = ir.FunctionType(ir.IntType(32), [])
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(function, [])
    return context.get_dummy_value()


def new_counters():
    """All 0."""
    return np.zeros(N_CELLS, dtype=np.int64)


@borrowing
def first_ticket(phase):
    """The counter of tickets when a phase begins."""
    return phase << (2 * N_BITS)


@borrowing
def begin(counters, phase):
    """Let tasks of a phase be taken, unless somebody did; when all of the last one are done."""
    while True:
        ticket = seen(counters, TICKETS)
        if ticket >= first_ticket(phase):
            return
        if replaced(counters, TICKETS, ticket, first_ticket(phase)):
            return


@borrowing
def take(counters, phase, n_tasks, from_end):
    """The next task of a phase, from its beginning or end; -1 if there is none, or it is over."""
    while True:
        ticket = seen(counters, TICKETS)
        taken = ticket - first_ticket(phase)
        n_first, n_last = taken >> N_BITS, taken & ((1 << N_BITS) - 1)
        if taken < 0 or n_first + n_last >= n_tasks:
            return -1
        if replaced(counters, TICKETS, ticket, ticket + (1 if from_end else 1 << N_BITS)):
            return n_tasks - 1 - n_last if from_end else n_first


@borrowing
def wait_for(counters, index, least):
    """Wait until a counter is at least so much; False if everything was stopped before."""
    looks = 0
    while seen(counters, index) < least:
        if seen(counters, STOPPED) > 0:
            return False
        looks += 1
        if looks % PATIENCE == 0:
            let_others_run()
    return True
