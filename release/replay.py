"""
A bare Python process that imports a submission and makes recorded calls: what the grader's cost is
measured against. Run as `python replay.py FOLDER CALLS NAMES`; prints its own times as JSON.
"""

import json
import sys
import time
from pathlib import Path

started = time.perf_counter()
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from autograder.kit import evaluate, frozen  # noqa: E402

requests = frozen.load(Path(sys.argv[2]))
names = json.loads(sys.argv[3])
sys.path[0] = sys.argv[1]
loaded = time.perf_counter()


def look(name: str):
    """The submission's object of that name."""
    return getattr(__import__(names[name]), name)


before = time.process_time()
for module in sorted(set(names.values())):
    try:
        __import__(module)
    except BaseException:  # whatever a submission does when it is imported
        pass
imported = time.process_time()
for request in requests:
    try:
        evaluate.evaluate(request, look)
    except BaseException:  # an answer like any other
        pass
print(json.dumps({"loading": loaded - started, "import_cpu": imported - before,
                  "calls_cpu": time.process_time() - imported}))
