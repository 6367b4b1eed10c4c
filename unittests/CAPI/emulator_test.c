/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C interface of the emulator, used from C. */

#include "emulator_test.h"
#include "expect.h"

#include "deplo-c/Emulator.h"

#include <stdio.h>
#include <string.h>

enum { count = 64 };

static const char source[] =
    ".version 8.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry twice(.param .u64 x, .param .u64 y) {\n"
    "  .reg .b64 %rd<6>;\n"
    "  .reg .f32 %f<3>;\n"
    "  .reg .b32 %r<2>;\n"
    "  ld.param.u64 %rd1, [x];\n"
    "  ld.param.u64 %rd2, [y];\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  mul.wide.u32 %rd3, %r1, 4;\n"
    "  add.s64 %rd4, %rd1, %rd3;\n"
    "  add.s64 %rd5, %rd2, %rd3;\n"
    "  ld.global.f32 %f1, [%rd4];\n"
    "  add.f32 %f2, %f1, %f1;\n"
    "  st.global.f32 [%rd5], %f2;\n"
    "  ret;\n"
    "}\n";

/* What the kernel finds if its output has so many elements. */
static const char *run(DeploEmulation *emulation, float *x, float *y,
                       size_t elements) {
  void *parameters[2];
  DeploEmulationRegion regions[2];
  DeploEmulationLaunch launch;
  parameters[0] = x;
  parameters[1] = y;
  memset(regions, 0, sizeof(regions));
  regions[0].name = "x";
  regions[0].memory = x;
  regions[0].bytes = count * sizeof(float);
  regions[0].isInitialized = 1;
  regions[1].name = "y";
  regions[1].memory = y;
  regions[1].bytes = elements * sizeof(float);
  regions[1].isWritable = 1;
  memset(&launch, 0, sizeof(launch));
  launch.kernel = "twice";
  launch.grid[0] = launch.grid[1] = launch.grid[2] = 1;
  launch.block[0] = count;
  launch.block[1] = launch.block[2] = 1;
  launch.parameters = parameters;
  launch.parameterBytes = sizeof(parameters);
  launch.regions = regions;
  launch.regionCount = 2;
  launch.checksRaces = launch.checksUninitialized = 1;
  launch.workers = 1;
  return deploEmulationRun(emulation, &launch);
}

static void testKernel(void) {
  DeploEmulation *emulation = NULL;
  float x[count], y[count];
  const char *result;
  int i, good = 1;
  EXPECT(deploEmulationLoad(source, strlen(source), &emulation) == 0);
  if (emulation == NULL)
    return;
  EXPECT(strstr(deploEmulationKernels(emulation), "\"name\":\"twice\"") !=
         NULL);
  for (i = 0; i < count; ++i) {
    x[i] = (float)i;
    y[i] = -1;
  }
  result = run(emulation, x, y, count);
  EXPECT(result != NULL && strstr(result, "\"findings\":[]") != NULL);
  EXPECT(result != NULL &&
         strstr(result, "\"global_store_bytes\":256") != NULL);
  for (i = 0; i < count; ++i)
    good &= y[i] == 2 * x[i];
  EXPECT(good);
  result = run(emulation, x, y, count - 1);
  EXPECT(result != NULL &&
         strstr(result, "16:3: out-of-bounds access: block (0, 0, 0), thread "
                        "(63, 0, 0)") != NULL);
  deploEmulationDestroy(emulation);
}

static void testErrors(void) {
  static const char wrong[] = ".version 8.0\n"
                              ".target sm_90\n"
                              ".address_size 64\n"
                              ".visible .entry k() { nonsense.u32 %r1; }\n";
  DeploEmulation *emulation = NULL;
  DeploTensorMap map;
  unsigned char bytes[128];
  EXPECT_ERROR(deploEmulationLoad(wrong, strlen(wrong), &emulation),
               "4:23: there is no instruction 'nonsense'");
  EXPECT(emulation == NULL);
  EXPECT_ERROR(deploEmulationLoad(NULL, 0, &emulation), "null pointer");
  EXPECT(deploEmulationRun(NULL, NULL) == NULL);
  deploEmulationDestroy(NULL);
  memset(&map, 0, sizeof(map));
  map.rank = 6;
  EXPECT_ERROR(deploEmulationTensorMap(&map, bytes),
               "rank or swizzle is out of range");
}

int runEmulatorTest(void) {
  failures = 0;
  testKernel();
  testErrors();
  return failures;
}
