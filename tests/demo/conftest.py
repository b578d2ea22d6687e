"""One quick run of the demonstration, whose report several tests look at."""

import time

import pytest

from partita.demo import write_report


def make_report(path):
    said = []
    write_report(path, quick=True, n_processes=1, say=said.append)
    path.with_suffix(".log").write_text("\n".join(said), encoding="utf-8")


@pytest.fixture(scope="session")
def report(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("demo")
    if not hasattr(request.config, "workerinput"):
        make_report(folder / "report.html")
        return folder / "report.html"
    # Several processes run the tests: whoever comes first makes the report, the others wait.
    path = folder.parent.parent / "report.html"
    try:
        (path.parent / "making-report").mkdir()
    except FileExistsError:
        deadline = time.monotonic() + 600
        while not path.with_suffix(".log").exists():
            assert time.monotonic() < deadline, "the process that makes the report does not end"
            time.sleep(0.2)
        return path
    try:
        make_report(path)
    finally:
        path.with_suffix(".log").touch()
    return path
