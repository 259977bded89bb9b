"""Starts a command as a user who may look into nothing."""

import os
import shutil

import pytest

# Of a process of another user, the kernel tells little. Root may become one.
as_nobody = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv"
)


NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
