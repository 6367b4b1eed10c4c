/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Checks of the tests in C: each that fails prints its line and is counted. */

#ifndef DEPLO_UNITTESTS_CAPI_EXPECT_H
#define DEPLO_UNITTESTS_CAPI_EXPECT_H

#include "deplo-c/Runtime.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void expect(int condition, const char *text, const char *file,
                   int line) {
  if (condition)
    return;
  ++failures;
  fprintf(stderr, "%s:%d: expected %s; last error: %s\n", file, line, text,
          deploLastError());
}

#define EXPECT(condition) expect(condition, #condition, __FILE__, __LINE__)
#define EXPECT_ERROR(call, part)                                               \
  do {                                                                         \
    EXPECT((call) != 0);                                                       \
    EXPECT(strstr(deploLastError(), part) != NULL);                            \
  } while (0)

#endif /* DEPLO_UNITTESTS_CAPI_EXPECT_H */
