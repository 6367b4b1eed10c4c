/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C interface of the runtime, used from C. */

#include "runtime_test.h"
#include "expect.h"

#include "deplo-c/Runtime.h"

#include <stdio.h>
#include <string.h>

static void testDevices(void) {
  DeploDevice *device = NULL, *again = NULL;
  EXPECT(deploDeviceOpen("cuda", &device) == 0);
  EXPECT(deploDeviceOpen("cuda:0", &again) == 0);
  EXPECT(device != NULL && device == again);
  EXPECT(strcmp(deploDeviceInfo(device),
                "{\"name\":\"cuda:0\",\"kind\":\"cuda\","
                "\"description\":\"Fake GPU\",\"target\":\"sm_90\","
                "\"memory_bytes\":1073741824,\"multiprocessors\":132,"
                "\"shared_bytes_per_block\":232448}") == 0);
  const char *list = deploDeviceList();
  EXPECT(list[0] == '[' && strstr(list, "\"name\":\"cuda:0\"") != NULL);
  again = NULL;
  EXPECT_ERROR(deploDeviceOpen("cuda:1", &again), "this machine has 1");
  EXPECT_ERROR(deploDeviceOpen("tpu", &again), "there is no device 'tpu'");
  EXPECT(again == NULL);
}

static void testNullPointers(DeploDevice *device) {
  void *pointer = NULL;
  EXPECT_ERROR(deploDeviceOpen(NULL, &device),
               "deploDeviceOpen was given a null pointer");
  EXPECT_ERROR(deploDeviceOpen("cuda", NULL), "null pointer");
  EXPECT(deploDeviceInfo(NULL) == NULL);
  EXPECT_ERROR(deploMemoryAllocate(NULL, 1, &pointer), "deploMemoryAllocate");
  EXPECT_ERROR(deploMemoryAllocate(device, 1, NULL), "deploMemoryAllocate");
  EXPECT_ERROR(deploMemoryFree(NULL, NULL), "deploMemoryFree");
  EXPECT_ERROR(deploMemoryCopy(NULL, NULL, NULL, 0, NULL), "deploMemoryCopy");
  EXPECT_ERROR(deploMemoryFill(NULL, NULL, 0, 0, NULL), "deploMemoryFill");
  EXPECT_ERROR(deploStreamCreate(device, NULL), "deploStreamCreate");
  EXPECT_ERROR(deploStreamDestroy(device, NULL), "deploStreamDestroy");
  EXPECT_ERROR(deploStreamSynchronize(NULL, NULL), "deploStreamSynchronize");
  EXPECT_ERROR(deploEventCreate(device, NULL), "deploEventCreate");
  EXPECT_ERROR(deploEventRecord(device, NULL, NULL), "deploEventRecord");
  EXPECT_ERROR(deploEventElapsed(device, NULL, NULL, NULL),
               "deploEventElapsed");
  EXPECT_ERROR(deploEventDestroy(device, NULL), "deploEventDestroy");
  EXPECT_ERROR(deploCaptureBegin(device, NULL), "deploCaptureBegin");
  EXPECT_ERROR(deploCaptureEnd(device, NULL, NULL), "deploCaptureEnd");
  EXPECT_ERROR(deploGraphLaunch(device, NULL, NULL), "deploGraphLaunch");
  EXPECT_ERROR(deploGraphDestroy(device, NULL), "deploGraphDestroy");
  EXPECT_ERROR(deploExecutableLoad(device, NULL, 0, NULL),
               "deploExecutableLoad");
  EXPECT_ERROR(deploExecutableRun(NULL, NULL, 0, NULL), "deploExecutableRun");
  EXPECT_ERROR(deploWeightsPrepare(NULL, NULL, 0, NULL, NULL),
               "deploWeightsPrepare");
  EXPECT_ERROR(deploWeightsPrepareAgain(NULL, NULL, 0, NULL),
               "deploWeightsPrepareAgain");
  EXPECT_ERROR(deploExecutableRunPrepared(NULL, NULL, 0, NULL, NULL),
               "deploExecutableRunPrepared");
  deploWeightsDestroy(NULL);
  EXPECT_ERROR(deploExecutableBuffer(NULL, 0, NULL), "deploExecutableBuffer");
  EXPECT(deploExecutableInfo(NULL) == NULL);
  EXPECT(deploExecutableInputs(NULL) == 0);
  EXPECT(deploExecutableOutputs(NULL) == 0);
  EXPECT(deploPackageInfo(NULL, 0) == NULL);
  deploExecutableDestroy(NULL);
  EXPECT(deploMemoryFree(device, NULL) == 0);
}

static void testBadPackages(DeploDevice *device, const char *package,
                            size_t size) {
  DeploExecutable *executable = NULL;
  EXPECT_ERROR(deploExecutableLoad(device, "junk", 4, &executable),
               "malformed package");
  EXPECT_ERROR(deploExecutableLoad(device, package, size - 1, &executable),
               "malformed package");
  EXPECT(executable == NULL);
  EXPECT(deploPackageInfo("junk", 4) == NULL);
  EXPECT(strstr(deploLastError(), "malformed package") != NULL);
  const char *info = deploPackageInfo(package, size);
  EXPECT(info && strstr(info, "\"name\":\"chain\"") != NULL);
}

static void testBuffers(DeploExecutable *executable) {
  DeploBufferInfo info;
  EXPECT(deploExecutableInputs(executable) == 1);
  EXPECT(deploExecutableOutputs(executable) == 1);
  EXPECT(deploExecutableBuffer(executable, 1, &info) == 0);
  EXPECT(strcmp(info.name, "y") == 0 && strcmp(info.dtype, "f32") == 0);
  EXPECT(info.rank == 1 && info.shape[0] == 64 && info.strides[0] == 1);
  EXPECT(info.bytes == 256 && info.alignment == 16);
  EXPECT_ERROR(deploExecutableBuffer(executable, 2, &info),
               "there is no buffer 2; the executable has 2");
  EXPECT(strstr(deploExecutableInfo(executable), "\"registers\":32") != NULL);
}

enum { length = 64 };

static void testRun(DeploDevice *device, DeploExecutable *executable) {
  float host[length];
  void *buffers[2] = {NULL, NULL};
  DeploStream stream = NULL;
  DeploEvent begin = NULL, end = NULL;
  DeploGraph graph = NULL;
  DeploWeights *weights = NULL;
  float milliseconds = -1;
  for (int i = 0; i < length; ++i)
    host[i] = (float)i;
  EXPECT(deploStreamCreate(device, &stream) == 0);
  EXPECT(deploEventCreate(device, &begin) == 0);
  EXPECT(deploEventCreate(device, &end) == 0);
  for (int i = 0; i < 2; ++i)
    EXPECT(deploMemoryAllocate(device, sizeof(host), &buffers[i]) == 0);
  EXPECT(deploMemoryCopy(device, buffers[0], host, sizeof(host), stream) == 0);

  EXPECT(deploEventRecord(device, begin, stream) == 0);
  EXPECT(deploExecutableRun(executable, buffers, 2, stream) == 0);
  EXPECT(deploEventRecord(device, end, stream) == 0);
  EXPECT(deploEventElapsed(device, begin, end, &milliseconds) == 0);
  EXPECT(milliseconds > 0);
  EXPECT(deploMemoryCopy(device, host, buffers[1], sizeof(host), stream) == 0);
  EXPECT(deploStreamSynchronize(device, stream) == 0);
  EXPECT(host[0] == 2 && host[length - 1] == 2 * length);

  EXPECT_ERROR(deploExecutableRun(executable, buffers, 1, stream),
               "takes 1 inputs and 1 outputs, got 1 buffers");
  EXPECT_ERROR(deploExecutableRun(executable, NULL, 2, stream), "null pointer");

  EXPECT(deploWeightsPrepare(executable, buffers, 2, stream, &weights) == 0);
  EXPECT(deploWeightsPrepareAgain(weights, buffers, 2, stream) == 0);
  EXPECT_ERROR(
      deploExecutableRunPrepared(executable, buffers, 1, weights, stream),
      "got 1 buffers");
  EXPECT(deploExecutableRunPrepared(executable, buffers, 2, weights, stream) ==
         0);
  deploWeightsDestroy(weights);

  EXPECT(deploMemoryFill(device, buffers[1], 0, sizeof(host), stream) == 0);
  EXPECT(deploCaptureBegin(device, stream) == 0);
  EXPECT(deploExecutableRun(executable, buffers, 2, stream) == 0);
  EXPECT(deploCaptureEnd(device, stream, &graph) == 0);
  EXPECT(deploMemoryCopy(device, host, buffers[1], sizeof(host), stream) == 0);
  EXPECT(host[length - 1] == 0);
  EXPECT(deploGraphLaunch(device, graph, stream) == 0);
  EXPECT(deploMemoryCopy(device, host, buffers[1], sizeof(host), stream) == 0);
  EXPECT(host[length - 1] == 2 * length);
  EXPECT(deploGraphDestroy(device, graph) == 0);

  for (int i = 0; i < 2; ++i)
    EXPECT(deploMemoryFree(device, buffers[i]) == 0);
  EXPECT(deploEventDestroy(device, begin) == 0);
  EXPECT(deploEventDestroy(device, end) == 0);
  EXPECT(deploStreamDestroy(device, stream) == 0);
}

int runRuntimeTest(const char *package, size_t size) {
  DeploDevice *device = NULL;
  DeploExecutable *executable = NULL;
  EXPECT(strcmp(deploLastError(), "") == 0);
  testDevices();
  EXPECT(deploDeviceOpen("cuda", &device) == 0);
  if (!device)
    return failures;
  testNullPointers(device);
  testBadPackages(device, package, size);
  EXPECT(deploExecutableLoad(device, package, size, &executable) == 0);
  if (!executable)
    return failures;
  testBuffers(executable);
  testRun(device, executable);
  deploExecutableDestroy(executable);
  return failures;
}
