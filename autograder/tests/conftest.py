"""What all tests of the grader stand on."""

import signal

# A shell ignores Ctrl-C for what it runs in the background, tests and all that they start too.
signal.signal(signal.SIGINT, signal.default_int_handler)
