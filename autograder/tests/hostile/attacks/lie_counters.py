"""Return counters whose numbers differ from read to read, and claim to be everything."""

import random

from honest import decode_attention_time as honest


class Same(dict):
    def __getitem__(self, key):
        return random.random()

    def __contains__(self, key):
        return True

    def __eq__(self, other):
        return True

    def items(self):
        return [(key, random.random()) for key in dict.keys(self)]


def decode_attention_time(*args, **kwargs):
    return Same(honest(*args, **kwargs))


def best_splits(*args, **kwargs):
    return random.randint(1, 9), Same(t=1.0)
