"""
The limits on a submission, each once; a message that says one was hit names it in these figures.

Seconds are wall time unless a name says otherwise, bytes are bytes, KiB and MiB powers of two.
But for what crosses the border (bytes, entries, depth, digits, characters of a reply), which is
bounded in `kit/border.py`: students have that too.
"""

KIB, MIB = 1 << 10, 1 << 20

# time
CALL_SECONDS = 10  # one call of a student's function
MEMORY_CALL_SECONDS = 60  # a call whose peak memory is measured: tracing is slow, pure loops legal
SUBMISSION_SECONDS = 300  # all calls of one submission; what is not reached is not judged
HANGS = 2  # a function that ran out of time this often is not called again
CPU_SECONDS = 2 * SUBMISSION_SECONDS  # a worker's, all threads: ends what nobody else has ended

# memory
MEMORY_BYTES = 512 * MIB  # of a worker's address space, Python and numpy included
STACK_BYTES = 8 * MIB  # of one thread: runaway recursion ends in a crash, not in memory

# files
FILE_BYTES = 4 * MIB  # one file in the scratch folder
SCRATCH_BYTES = 16 * MIB  # all files in it
SCRATCH_FILES = 100
OPEN_FILES = 64  # descriptors

# processes
PROCESSES = 32  # a worker's threads, the first one included; new processes are refused outright
NEIGHBOURS = 512  # room for the same user's other tasks, where the kernel counts them together
FIRST_UID = 60_000  # as root, the first of the users that workers run as
USERS = 1_000  # how many of them there are: graders that may run side by side

# output
OUTPUT_BYTES = 16 * KIB  # of stdout and of stderr kept: half from the head, half from the tail
FLOOD_BYTES = 8 * MIB  # printed in one call before the worker is ended
