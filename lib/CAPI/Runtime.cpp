// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo-c/Runtime.h"
#include "CAPISupport.h"
#include "deplo-c/Emulator.h"
#include "deplo/Runtime/Executable.h"

#include <nlohmann/json.hpp>

using namespace deplo::runtime;
using Json = nlohmann::ordered_json;

// The handle keeps its texts, which the C side may read at any time.
struct DeploExecutable {
  std::unique_ptr<Executable> executable;
  std::string info;
  std::string counters;
};

struct DeploWeights {
  Executable *executable;
  std::unique_ptr<PreparedWeights> prepared;
};

static Device *unwrap(DeploDevice *device) {
  return reinterpret_cast<Device *>(device);
}

static std::string &lastError() {
  static thread_local std::string text;
  return text;
}

static int fail(std::string message) {
  lastError() = std::move(message);
  return 1;
}

int failCall(std::string message) { return fail(std::move(message)); }

static int finish(const Status &status) {
  return status.ok() ? 0 : fail(status.message());
}

template <typename T, typename Out>
static int finish(Result<T> result, Out *out) {
  if (!result.ok())
    return fail(result.message());
  *out = std::move(*result);
  return 0;
}

/// Fails unless every pointer that `function` cannot do without is there.
template <typename... Pointers>
static bool isNull(const char *function, Pointers... pointers) {
  if ((... && (pointers != nullptr)))
    return false;
  fail(std::string(function) + " was given a null pointer");
  return true;
}

#define RETURN_IF_NULL(...)                                                    \
  if (isNull(__func__, __VA_ARGS__))                                           \
  return 1

static Json describe(const DeviceInfo &info) {
  return {{"name", info.name},
          {"kind", deviceKind(info.name)},
          {"description", info.description},
          {"target", info.target},
          {"memory_bytes", info.memoryBytes},
          {"multiprocessors", info.multiprocessors},
          {"shared_bytes_per_block", info.sharedBytesPerBlock}};
}

const char *deploLastError(void) { return lastError().c_str(); }

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

int deploDeviceOpen(const char *name, DeploDevice **device) {
  RETURN_IF_NULL(name, device);
  Result<Device *> opened = openDevice(name);
  if (!opened.ok())
    return fail(opened.message());
  *device = reinterpret_cast<DeploDevice *>(*opened);
  return 0;
}

const char *deploDeviceInfo(DeploDevice *device) {
  static thread_local std::string text;
  if (isNull(__func__, device))
    return nullptr;
  text = toText(describe(unwrap(device)->info()));
  return text.c_str();
}

const char *deploDeviceList(void) {
  static thread_local std::string text;
  Json list = Json::array();
  for (Device *device : listDevices())
    list.push_back(describe(device->info()));
  text = toText(list);
  return text.c_str();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int deploMemoryAllocate(DeploDevice *device, size_t bytes, void **memory) {
  RETURN_IF_NULL(device, memory);
  return finish(unwrap(device)->allocate(bytes), memory);
}

int deploMemoryFree(DeploDevice *device, void *memory) {
  RETURN_IF_NULL(device);
  return finish(unwrap(device)->free(memory));
}

int deploMemoryCopy(DeploDevice *device, void *to, const void *from,
                    size_t bytes, DeploStream stream) {
  RETURN_IF_NULL(device);
  return finish(unwrap(device)->copy(to, from, bytes, stream));
}

int deploMemoryFill(DeploDevice *device, void *memory, uint8_t byte,
                    size_t bytes, DeploStream stream) {
  RETURN_IF_NULL(device);
  return finish(unwrap(device)->fill(memory, byte, bytes, stream));
}

//===----------------------------------------------------------------------===//
// Streams, events and graphs
//===----------------------------------------------------------------------===//

int deploStreamCreate(DeploDevice *device, DeploStream *stream) {
  RETURN_IF_NULL(device, stream);
  return finish(unwrap(device)->createStream(), stream);
}

int deploStreamDestroy(DeploDevice *device, DeploStream stream) {
  RETURN_IF_NULL(device, stream);
  return finish(unwrap(device)->destroyStream(stream));
}

int deploStreamSynchronize(DeploDevice *device, DeploStream stream) {
  RETURN_IF_NULL(device);
  return finish(unwrap(device)->synchronize(stream));
}

int deploEventCreate(DeploDevice *device, DeploEvent *event) {
  RETURN_IF_NULL(device, event);
  return finish(unwrap(device)->createEvent(), event);
}

int deploEventDestroy(DeploDevice *device, DeploEvent event) {
  RETURN_IF_NULL(device, event);
  return finish(unwrap(device)->destroyEvent(event));
}

int deploEventRecord(DeploDevice *device, DeploEvent event,
                     DeploStream stream) {
  RETURN_IF_NULL(device, event);
  return finish(unwrap(device)->recordEvent(event, stream));
}

int deploEventElapsed(DeploDevice *device, DeploEvent begin, DeploEvent end,
                      float *milliseconds) {
  RETURN_IF_NULL(device, begin, end, milliseconds);
  return finish(unwrap(device)->elapsed(begin, end), milliseconds);
}

int deploCaptureBegin(DeploDevice *device, DeploStream stream) {
  RETURN_IF_NULL(device, stream);
  return finish(unwrap(device)->beginCapture(stream));
}

int deploCaptureEnd(DeploDevice *device, DeploStream stream,
                    DeploGraph *graph) {
  RETURN_IF_NULL(device, stream, graph);
  return finish(unwrap(device)->endCapture(stream), graph);
}

int deploGraphLaunch(DeploDevice *device, DeploGraph graph,
                     DeploStream stream) {
  RETURN_IF_NULL(device, graph);
  return finish(unwrap(device)->launchGraph(graph, stream));
}

int deploGraphDestroy(DeploDevice *device, DeploGraph graph) {
  RETURN_IF_NULL(device, graph);
  return finish(unwrap(device)->destroyGraph(graph));
}

//===----------------------------------------------------------------------===//
// Executables
//===----------------------------------------------------------------------===//

int deploExecutableLoad(DeploDevice *device, const void *bytes, size_t size,
                        DeploExecutable **executable) {
  RETURN_IF_NULL(device, bytes, executable);
  Result<std::unique_ptr<Executable>> loaded =
      Executable::load(std::string_view(static_cast<const char *>(bytes), size),
                       *unwrap(device));
  if (!loaded.ok())
    return fail(loaded.message());
  std::string info = (*loaded)->info();
  *executable = new DeploExecutable{std::move(*loaded), std::move(info), {}};
  return 0;
}

void deploExecutableDestroy(DeploExecutable *executable) { delete executable; }

int deploExecutableRun(DeploExecutable *executable, void *const *buffers,
                       size_t count, DeploStream stream) {
  RETURN_IF_NULL(executable);
  if (count != 0)
    RETURN_IF_NULL(buffers);
  return finish(executable->executable->run(buffers, count, stream));
}

int deploExecutableRunSized(DeploExecutable *executable, void *const *buffers,
                            size_t count, const int64_t *sizes,
                            size_t sizeCount, DeploStream stream) {
  RETURN_IF_NULL(executable);
  if (count != 0)
    RETURN_IF_NULL(buffers);
  if (sizeCount != 0)
    RETURN_IF_NULL(sizes);
  return finish(
      executable->executable->run(buffers, count, sizes, sizeCount, stream));
}

int deploWeightsPrepare(DeploExecutable *executable, void *const *buffers,
                        size_t count, DeploStream stream,
                        DeploWeights **weights) {
  RETURN_IF_NULL(executable, buffers, weights);
  Result<std::unique_ptr<PreparedWeights>> prepared =
      executable->executable->prepare(buffers, count, stream);
  if (!prepared.ok())
    return fail(prepared.message());
  *weights =
      new DeploWeights{executable->executable.get(), std::move(*prepared)};
  return 0;
}

int deploWeightsPrepareAgain(DeploWeights *weights, void *const *buffers,
                             size_t count, DeploStream stream) {
  RETURN_IF_NULL(weights, buffers);
  return finish(weights->executable->prepareAgain(*weights->prepared, buffers,
                                                  count, stream));
}

void deploWeightsDestroy(DeploWeights *weights) { delete weights; }

int deploExecutableRunPrepared(DeploExecutable *executable,
                               void *const *buffers, size_t count,
                               const DeploWeights *weights,
                               DeploStream stream) {
  RETURN_IF_NULL(executable, buffers, weights);
  if (weights->executable != executable->executable.get())
    return fail("the weights were prepared for another executable");
  return finish(
      executable->executable->run(buffers, count, *weights->prepared, stream));
}

const char *deploExecutableInfo(DeploExecutable *executable) {
  return isNull(__func__, executable) ? nullptr : executable->info.c_str();
}

const char *deploExecutableCounters(DeploExecutable *executable) {
  if (isNull(__func__, executable))
    return nullptr;
  executable->counters = executable->executable->counters();
  return executable->counters.c_str();
}

size_t deploExecutableInputs(DeploExecutable *executable) {
  return isNull(__func__, executable)
             ? 0
             : executable->executable->manifest().inputs.size();
}

size_t deploExecutableOutputs(DeploExecutable *executable) {
  return isNull(__func__, executable)
             ? 0
             : executable->executable->manifest().outputs.size();
}

int deploExecutableBuffer(DeploExecutable *executable, size_t index,
                          DeploBufferInfo *info) {
  RETURN_IF_NULL(executable, info);
  size_t count = executable->executable->bufferCount();
  if (index >= count)
    return fail("there is no buffer " + std::to_string(index) +
                "; the executable has " + std::to_string(count));
  const TensorInfo &tensor = executable->executable->buffer(index);
  info->name = tensor.name.c_str();
  info->dtype = tensor.dtype.c_str();
  info->rank = tensor.shape.size();
  info->shape = tensor.shape.data();
  info->strides = tensor.strides.data();
  info->bytes = size_t(tensorBytes(tensor).value_or(0));
  info->alignment = size_t(tensor.alignment);
  return 0;
}

const char *deploPackageInfo(const void *bytes, size_t size) {
  static thread_local std::string text;
  if (isNull(__func__, bytes))
    return nullptr;
  Result<Package> package =
      readPackage(std::string_view(static_cast<const char *>(bytes), size));
  if (!package.ok()) {
    fail(package.message());
    return nullptr;
  }
  text = manifestJson(package->manifest);
  return text.c_str();
}
