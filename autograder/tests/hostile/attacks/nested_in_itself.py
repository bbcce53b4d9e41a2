"""Return a list that holds itself, and a dict that does."""


def split_kv_decode(*args, **kwargs):
    o, parts = [], {}
    o.append(o)
    parts["parts"] = parts
    return o, parts, o
