"""Keep what earlier calls were given, in memory and on disk, and tell it in every later one."""

import os

from probe import WORLD

seen = []


def split_kv_decode(q, K, V, n_splits, scale=None):
    seen.append(f"{WORLD['loud']} {q.ravel()[:2]} {n_splits}")
    with open("seen", "a", encoding="utf-8") as file:
        file.write(seen[-1])
    with open(f"seen {len(os.listdir())}", "w", encoding="utf-8") as file:
        file.write(seen[-1])
    print(seen)
    raise ValueError(" ".join([*seen, open("seen", encoding="utf-8").read()]))
