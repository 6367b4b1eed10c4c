/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef DEPLO_UNITTESTS_CAPI_RUNTIME_TEST_H
#define DEPLO_UNITTESTS_CAPI_RUNTIME_TEST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C"
#endif
    /* Runs `package`, y = 2 * (x + 1) on 64 floats; returns what failed. */
    int runRuntimeTest(const char *package, size_t size);

#endif /* DEPLO_UNITTESTS_CAPI_RUNTIME_TEST_H */
