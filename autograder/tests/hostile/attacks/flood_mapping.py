"""Return a dict whose items have no end, and that nests itself."""


class Endless(dict):
    def items(self):
        while True:
            yield len(self), self


def split_kv_decode(*args, **kwargs):
    return Endless(), Endless(), []
