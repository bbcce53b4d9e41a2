"""Lets `python -m pytest` report this lab's checks in sentences. Nothing to do here."""

from pathlib import Path

HERE = Path(__file__).resolve().parent


def pytest_configure(config):
    if config.rootpath.resolve() == HERE:
        config.pluginmanager.import_plugin("autograder.kit.pytest_plugin")


def pytest_terminal_summary(terminalreporter, config):
    if config.rootpath.resolve() != HERE:
        terminalreporter.write_line(f"no check ran: pytest starts in the lab's folder: cd {HERE}")
