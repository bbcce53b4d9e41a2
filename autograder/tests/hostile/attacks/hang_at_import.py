"""Sleep while the file is imported."""

import time

time.sleep(1000)
