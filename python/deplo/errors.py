# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one exception, and the one kind of warning, for what a user can put right."""


class Error(Exception):
    """A problem with the user's program, inputs or installation.

    The message is one readable paragraph that names what is wrong, where, and
    the remedy. It starts lower-case and has no traceback in it.
    """


class DeploWarning(UserWarning):
    """What a user may want to change, though the result is right without.

    Its sentence is like that of an `Error`.
    """


NO_TORCH = "this needs PyTorch: pip install torch"
