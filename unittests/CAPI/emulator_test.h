/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef DEPLO_UNITTESTS_CAPI_EMULATOR_TEST_H
#define DEPLO_UNITTESTS_CAPI_EMULATOR_TEST_H

#ifdef __cplusplus
extern "C"
#endif
    /* Runs PTX, and the same with faults; returns what failed. */
    int runEmulatorTest(void);

#endif /* DEPLO_UNITTESTS_CAPI_EMULATOR_TEST_H */
