"""Turns solutions into releases: what students get, what Gradescope and nbgrader grade with."""
