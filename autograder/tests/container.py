"""
Gradescope's container, as far as a namespace can be one: a root of its own with /autograder in it,
the system's programs read-only, this Python where it lies, processes and /tmp of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from autograder.grading.simulate import lay_out

SCRIPT = r"""
set -eu
root=$1; shift
own() { mkdir -p "$root$1"; mount -t tmpfs -o "mode=$2" none "$root$1"; }
show() { mkdir -p "$root$1"; mount --bind "$1" "$root$1"; mount -o remount,bind,ro "$root$1"; }
own /tmp 1777; own /var/tmp 1777; own /run/lock 1777; own /dev 755; own /dev/shm 1777
for folder in /usr /etc "$@"; do show "$folder"; done
for folder in /bin /sbin /lib /lib64; do
    [ -L $folder ] && cp -P $folder "$root$folder" || { [ -d $folder ] && show $folder; } || true
done
for device in null zero full random urandom; do
    touch "$root/dev/$device"; mount --bind /dev/$device "$root/dev/$device"
done
mkdir -p "$root/proc"; mount -t proc none "$root/proc"
exec chroot "$root" /bin/sh -c '
    processes() { set -- /proc/[0-9]*; echo $#; }
    files() { find / -xdev -newer /autograder/run_autograder -not -path "/autograder/*"
              find /tmp /var/tmp /dev/shm /run/lock -mindepth 1 -maxdepth 3; }
    cd /autograder; before=$(processes); there=$(files)
    /autograder/run_autograder >/autograder/results/stdout 2>&1; code=$?
    after=$(processes); left=$(files)
    [ "$left" = "$there" ] && left=
    printf "%s\n" "$code" "$((after - before))" "$left" >/autograder/left'
"""


def possible() -> bool:
    """Whether this user and this kernel can make one."""
    return os.geteuid() == 0 and bool(shutil.which("unshare")) and subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "sh", "-c", "mount -t tmpfs none /mnt"],
        capture_output=True).returncode == 0


# Runs the command in argv where the kernel seems to have no Landlock: one filter that says so.
OLD_KERNEL = """
import os, struct, sys
sys.path.append(sys.argv[1])
from autograder.worker import libc, seccomp
lines = [(seccomp.LOAD, 0, 0, seccomp.NUMBER), (seccomp.IF_EQUAL, 0, 1, 444),
         (seccomp.RETURN, 0, 0, seccomp.NO_SUCH_CALL), (seccomp.RETURN, 0, 0, seccomp.ALLOW)]
code = b"".join(struct.pack("=HBBI", *line) for line in lines)
program = seccomp._Program(len(lines), code)
libc.prctl(seccomp.PR_SET_SECCOMP, seccomp.FILTER, seccomp.ctypes.byref(program))
os.execvp(sys.argv[2], sys.argv[2:])
"""


def run(bundle: Path, submission: Path, root: Path, secret: str = "", landlock: bool = True
        ) -> tuple[dict[str, Any], Path]:
    """
    (results.json's content, the container's root) after a bundle has graded a submission.

    Args:
        root: an empty folder for the container
        secret: a text that lies among the grader's own files
        landlock: False for a kernel without it
    """
    os.chmod(root, 0o755)
    lay_out(bundle, submission, root / "autograder")
    (root / "autograder" / "source" / "secret.txt").write_text(secret, encoding="utf-8")
    os.chmod(root / "autograder", 0o755)
    python = sorted({sys.base_prefix, sys.prefix} - {"/usr"})
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private",
               "sh", "-c", SCRIPT, "container", str(root), *python]
    if not landlock:
        project = str(Path(__file__).resolve().parents[2])
        command = [sys.executable, "-c", OLD_KERNEL, project, *command]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    subprocess.run(command, check=True, env=environment, timeout=300, stdin=subprocess.DEVNULL)
    results = root / "autograder" / "results" / "results.json"
    return json.loads(results.read_text(encoding="utf-8")), root


def left(root: Path) -> list[str]:
    """run_autograder's exit code, the processes that it left, the files outside /autograder."""
    return (root / "autograder" / "left").read_text(encoding="utf-8").splitlines()
