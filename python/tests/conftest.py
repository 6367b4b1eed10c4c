# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options and fixtures: `pytest --device host|cuda|emu`."""

import os

import pytest

from deplo import library


def pytest_addoption(parser):
    parser.addoption(
        "--device", choices=("host", "cuda", "emu"), default="host", help="where numeric tests run"
    )


def pytest_configure(config):
    # Tests are of the compiler; those of the cache have a folder of their own.
    os.environ["DEPLO_CACHE"] = "off"
    config.addinivalue_line("markers", "cuda: of streams and graphs; runs with --device cuda only")
    config.addinivalue_line("markers", "wheel: of the wheel, which is built and installed first")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--device") != "cuda":
        dropped = [item for item in items if item.get_closest_marker("cuda")]
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=dropped)


@pytest.fixture(scope="session")
def compiler():
    """Present in tests that need libDeploC; they skip only where it isn't built."""
    if library.find(library.COMPILER) is None:
        pytest.skip("libDeploC is not built")


@pytest.fixture(scope="session")
def device(request, compiler):
    """ "host", "cuda" or "emu", as the command line says."""
    return request.config.getoption("--device")


@pytest.fixture(scope="session")
def torch_device(device):
    return "cuda" if device == "cuda" else "cpu"
