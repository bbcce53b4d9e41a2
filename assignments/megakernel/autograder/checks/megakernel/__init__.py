"""Checks of the lab megakernel: the timeline of many kernels and of one."""
