"""End the process in a lab that has one function and no numpy."""

import os


def timeline(*args, **kwargs):
    os._exit(0)
