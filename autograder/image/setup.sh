#!/usr/bin/env bash
# Builds the image, once, with the network: Python and the grader's two requirements.
set -euo pipefail
apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3 python3-venv
python3 -m venv /autograder/venv
/autograder/venv/bin/python -m pip install --no-cache-dir -r /autograder/source/requirements.txt
/autograder/venv/bin/python -m compileall -q /autograder/source  # once, not for each submission
apt-get clean
