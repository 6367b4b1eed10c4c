# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one exception deplo raises for everything a user can put right."""


class Error(Exception):
    """A problem with the user's program, inputs or installation.

    The message is one readable paragraph that names what is wrong, where, and
    the remedy. It starts lower-case and has no traceback in it.
    """


NO_TORCH = "this needs PyTorch: pip install torch"
