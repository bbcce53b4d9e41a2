"""
A bare Python process that imports a submission and makes recorded calls: what the grader's cost is
measured against. Run as `python replay.py FOLDER CALLS NAMES`; prints its own times as JSON.
"""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, sys.argv[1])
names = json.loads(sys.argv[3])
before = time.process_time()
for module in sorted(set(names.values())):
    try:
        __import__(module)
    except BaseException:  # whatever a submission does when it is imported
        pass
import_cpu = time.process_time() - before

started = time.perf_counter()
sys.path[0] = str(Path(__file__).resolve().parents[1])
from autograder.kit import evaluate, frozen  # noqa: E402

sys.path[0] = sys.argv[1]
requests = frozen.load(Path(sys.argv[2]))
loaded = time.perf_counter()


def look(name: str):
    """The submission's object of that name."""
    return getattr(__import__(names[name]), name)


before = time.process_time()
for request in requests:
    try:
        evaluate.evaluate(request, look)
    except BaseException:  # an answer like any other
        pass
print(json.dumps({"loading": loaded - started, "import_cpu": import_cpu,
                  "calls_cpu": time.process_time() - before}))
