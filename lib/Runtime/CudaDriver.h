// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the CUDA driver's C interface that the runtime uses, declared
// here so that building needs no CUDA headers, and looked up at run time so
// that programs start on machines without a driver.

#ifndef DEPLO_LIB_RUNTIME_CUDADRIVER_H
#define DEPLO_LIB_RUNTIME_CUDADRIVER_H

#include "deplo/Runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace deplo::runtime::cuda {

// The names and values are those of cuda.h; a handle is an opaque pointer.
using CUresult = int;
using CUdevice = int;
using CUcontext = void *;
using CUmodule = void *;
using CUfunction = void *;
using CUstream = void *;
using CUevent = void *;
using CUgraph = void *;
using CUgraphExec = void *;
using CUuserObject = void *;
using CUdeviceptr = uintptr_t;

constexpr CUresult success = 0;
constexpr CUresult errorInvalidImage = 200;
constexpr CUresult errorNoBinaryForGpu = 209;
constexpr CUresult errorUnsupportedPtxVersion = 222;

constexpr int attributeMultiprocessorCount = 16;
constexpr int attributeComputeCapabilityMajor = 75;
constexpr int attributeComputeCapabilityMinor = 76;
constexpr int attributeMaxSharedBytesPerBlockOptin = 97;

constexpr int functionMaxThreadsPerBlock = 0;
constexpr int functionSharedBytes = 1;
constexpr int functionLocalBytes = 3;
constexpr int functionRegisters = 4;
constexpr int functionMaxDynamicSharedBytes = 8;
constexpr int functionNonPortableClusters = 14;

constexpr int jitInfoLogBuffer = 3;
constexpr int jitInfoLogBufferBytes = 4;
constexpr int jitErrorLogBuffer = 5;
constexpr int jitErrorLogBufferBytes = 6;

/// CUlaunchAttribute and CUlaunchConfig.
struct CUlaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int programmaticStreamSerializationAllowed;
  } value;
};
struct CUlaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(CUlaunchAttribute) == 72 && sizeof(CUlaunchConfig) == 56,
              "the layout of cuda.h");

constexpr int attributeProgrammaticStreamSerialization = 6;

/// From CUDA 12.3 on, programmatic launches can be recorded into graphs.
constexpr int firstVersionOfProgrammaticLaunch = 12030;

/// CUtensorMap: opaque, given to kernels by value.
struct alignas(64) CUtensorMap {
  unsigned char bytes[128];
};
/// CU_TENSOR_MAP_DATA_TYPE_UINT8, _BFLOAT16, _UINT32 and _UINT64: elements are
/// moved as bits.
constexpr int tensorMapUint8 = 0, tensorMapBfloat16 = 9, tensorMapUint32 = 2,
              tensorMapUint64 = 4;
constexpr int tensorMapNoInterleave = 0, tensorMapFillsZeros = 0;
/// CU_TENSOR_MAP_SWIZZLE_NONE, _32B, _64B and _128B follow one another.
constexpr int tensorMapNoSwizzle = 0;
constexpr int tensorMapL2Promotion128 = 2;
constexpr int firstVersionOfTensorMaps = 12000;

constexpr unsigned streamNonBlocking = 1;
constexpr CUstream streamLegacy = nullptr;
const CUstream streamLegacyHandle = reinterpret_cast<CUstream>(1);
const CUstream streamPerThread = reinterpret_cast<CUstream>(2);

constexpr int captureModeThreadLocal = 1;
constexpr int captureModeRelaxed = 2;
constexpr int captureStatusNone = 0;
constexpr int captureStatusActive = 1;

constexpr unsigned userObjectNoDestructorSync = 1;
constexpr unsigned graphUserObjectMove = 1;

// X(member, symbol, parameters)
#define DEPLO_CUDA_DRIVER_FUNCTIONS(X)                                         \
  X(init, "cuInit", (unsigned flags))                                          \
  X(driverGetVersion, "cuDriverGetVersion", (int *version))                    \
  X(getErrorName, "cuGetErrorName", (CUresult error, const char **text))       \
  X(getErrorString, "cuGetErrorString", (CUresult error, const char **text))   \
  X(deviceGetCount, "cuDeviceGetCount", (int *count))                          \
  X(deviceGet, "cuDeviceGet", (CUdevice * device, int ordinal))                \
  X(deviceGetName, "cuDeviceGetName", (char *name, int size, CUdevice device)) \
  X(deviceTotalMem, "cuDeviceTotalMem_v2", (size_t *bytes, CUdevice device))   \
  X(deviceGetAttribute, "cuDeviceGetAttribute",                                \
    (int *value, int attribute, CUdevice device))                              \
  X(primaryContextRetain, "cuDevicePrimaryCtxRetain",                          \
    (CUcontext * context, CUdevice device))                                    \
  X(contextGetCurrent, "cuCtxGetCurrent", (CUcontext * context))               \
  X(contextPush, "cuCtxPushCurrent_v2", (CUcontext context))                   \
  X(contextPop, "cuCtxPopCurrent_v2", (CUcontext * context))                   \
  X(moduleLoadDataEx, "cuModuleLoadDataEx",                                    \
    (CUmodule * module, const void *image, unsigned count, int *options,       \
     void **values))                                                           \
  X(moduleUnload, "cuModuleUnload", (CUmodule module))                         \
  X(moduleGetFunction, "cuModuleGetFunction",                                  \
    (CUfunction * function, CUmodule module, const char *name))                \
  X(functionGetAttribute, "cuFuncGetAttribute",                                \
    (int *value, int attribute, CUfunction function))                          \
  X(functionSetAttribute, "cuFuncSetAttribute",                                \
    (CUfunction function, int attribute, int value))                           \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                  \
    (int *blocks, CUfunction function, int threads, size_t sharedBytes))       \
  X(launchKernel, "cuLaunchKernel",                                            \
    (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,      \
     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,  \
     CUstream stream, void **parameters, void **extra))                        \
  X(memAlloc, "cuMemAlloc_v2", (CUdeviceptr * memory, size_t bytes))           \
  X(memFree, "cuMemFree_v2", (CUdeviceptr memory))                             \
  X(memcpyAsync, "cuMemcpyAsync",                                              \
    (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))         \
  X(memsetAsync, "cuMemsetD8Async",                                            \
    (CUdeviceptr memory, unsigned char byte, size_t count, CUstream stream))   \
  X(streamCreate, "cuStreamCreate", (CUstream * stream, unsigned flags))       \
  X(streamDestroy, "cuStreamDestroy_v2", (CUstream stream))                    \
  X(streamSynchronize, "cuStreamSynchronize", (CUstream stream))               \
  X(eventCreate, "cuEventCreate", (CUevent * event, unsigned flags))           \
  X(eventRecord, "cuEventRecord", (CUevent event, CUstream stream))            \
  X(eventSynchronize, "cuEventSynchronize", (CUevent event))                   \
  X(eventElapsedTime, "cuEventElapsedTime",                                    \
    (float *milliseconds, CUevent begin, CUevent end))                         \
  X(eventDestroy, "cuEventDestroy_v2", (CUevent event))                        \
  X(streamBeginCapture, "cuStreamBeginCapture_v2",                             \
    (CUstream stream, int mode))                                               \
  X(streamEndCapture, "cuStreamEndCapture",                                    \
    (CUstream stream, CUgraph * graph))                                        \
  X(streamGetCaptureInfo, "cuStreamGetCaptureInfo_v2",                         \
    (CUstream stream, int *status, uint64_t *id, CUgraph *graph,               \
     const void **dependencies, size_t *count))                                \
  X(threadExchangeCaptureMode, "cuThreadExchangeStreamCaptureMode",            \
    (int *mode))                                                               \
  X(graphInstantiate, "cuGraphInstantiateWithFlags",                           \
    (CUgraphExec * instance, CUgraph graph, unsigned long long flags))         \
  X(graphLaunch, "cuGraphLaunch", (CUgraphExec instance, CUstream stream))     \
  X(graphExecDestroy, "cuGraphExecDestroy", (CUgraphExec instance))            \
  X(graphDestroy, "cuGraphDestroy", (CUgraph graph))                           \
  X(userObjectCreate, "cuUserObjectCreate",                                    \
    (CUuserObject * object, void *pointer, void (*destroy)(void *),            \
     unsigned references, unsigned flags))                                     \
  X(userObjectRelease, "cuUserObjectRelease",                                  \
    (CUuserObject object, unsigned count))                                     \
  X(graphRetainUserObject, "cuGraphRetainUserObject",                          \
    (CUgraph graph, CUuserObject object, unsigned count, unsigned flags))

/// The driver, initialised. It is never closed.
struct Driver {
#define X(member, symbol, parameters) CUresult(*member) parameters = nullptr;
  DEPLO_CUDA_DRIVER_FUNCTIONS(X)
#undef X
  /// Null where the driver is too old for programmatic launches.
  CUresult (*launchKernelEx)(const CUlaunchConfig *config, CUfunction function,
                             void **parameters, void **extra) = nullptr;

  /// Null where the driver is too old for tensor maps.
  CUresult (*tensorMapEncodeTiled)(CUtensorMap *map, int type, uint32_t rank,
                                   void *address, const uint64_t *extents,
                                   const uint64_t *strides, const uint32_t *box,
                                   const uint32_t *elementStrides,
                                   int interleave, int swizzle, int l2Promotion,
                                   int fill) = nullptr;

  /// Opens `library` and initialises it. Fails with one sentence where there
  /// is no driver, no GPU, or the driver is too old.
  static Result<Driver> open(const std::string &library);

  /// Success, or "<call> failed: <the driver's explanation> (<its name>)".
  Status check(CUresult result, const std::string &call) const {
    return result == success ? Status::success() : failure(result, call);
  }
  Status failure(CUresult result, const std::string &call) const;
};

} // namespace deplo::runtime::cuda

#endif // DEPLO_LIB_RUNTIME_CUDADRIVER_H
