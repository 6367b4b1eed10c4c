/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef DEPLO_UNITTESTS_CAPI_DIALECTS_TEST_H
#define DEPLO_UNITTESTS_CAPI_DIALECTS_TEST_H

#ifdef __cplusplus
extern "C" {
#endif

/* Each returns what failed. */
int runDialectHandlesTest(void);
int runAttributesTest(void);
int runPipelinesTest(void);
int runTextualPipelineTest(void);
int runErrorsTest(void);

#ifdef __cplusplus
}
#endif

#endif /* DEPLO_UNITTESTS_CAPI_DIALECTS_TEST_H */
