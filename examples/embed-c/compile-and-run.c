/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiles y = x * sigmoid(x) from IR text for this machine's CPU, runs it, and
 * compares with the C library. Exit code 0 if they agree. */

#include "deplo-c/Compile.h"
#include "deplo-c/Runtime.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { length = 1000 };

static const char program[] =
    "func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {\n"
    "  %y = graph.silu %x : tensor<1000xf32>\n"
    "  return %y : tensor<1000xf32>\n"
    "}\n";

static int runtimeError(const char *what) {
  fprintf(stderr, "%s: %s\n", what, deploLastError());
  return 1;
}

/* Loads the package on device "host" and runs it. */
static int run(const void *package, size_t size, float *x, float *y) {
  DeploDevice *device = NULL;
  DeploExecutable *executable = NULL;
  deploRegisterHostDevice();
  if (deploDeviceOpen("host", &device))
    return runtimeError("device");
  if (deploExecutableLoad(device, package, size, &executable))
    return runtimeError("package");
  void *buffers[] = {x, y}; /* inputs, then outputs */
  int failed = deploExecutableRun(executable, buffers, 2, NULL) ||
               deploStreamSynchronize(device, NULL);
  if (failed)
    runtimeError("run");
  deploExecutableDestroy(executable);
  return failed;
}

int main(void) {
  DeploCompilation *compilation =
      deploCompile(program, strlen(program), "{\"device\": \"host\"}");
  if (deploCompilationError(compilation)) {
    fprintf(stderr, "%s\n", deploCompilationError(compilation));
    deploCompilationDestroy(compilation);
    return 1;
  }
  size_t size = 0;
  const void *package = deploCompilationPackage(compilation, &size);

  /* Inputs are aligned to 16 bytes, the compiler's default. */
  static _Alignas(16) float x[length], y[length];
  for (int i = 0; i < length; ++i)
    x[i] = (float)(i - length / 2) / 50;
  int failed = run(package, size, x, y);
  deploCompilationDestroy(compilation);
  if (failed)
    return 1;

  double worst = 0;
  for (int i = 0; i < length; ++i) {
    double exact = x[i] / (1 + exp(-(double)x[i]));
    worst = fmax(worst, fabs(y[i] - exact) / fmax(fabs(exact), 1e-3));
  }
  printf("deplo %s: %d elements, worst relative error %.1e\n", deploVersion(),
         length, worst);
  return worst < 1e-6 ? 0 : 1;
}
