// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FakeCudaDriver.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr int success = 0, invalidValue = 1, outOfMemory = 2, noDevice = 100,
              invalidContext = 201, noBinaryForGpu = 209, invalidPtx = 218,
              invalidHandle = 400, notFound = 500, launchFailure = 700,
              captureUnsupported = 900;

std::recursive_mutex mutex;
std::map<std::string, int> failures, calls;
std::set<void *> live;
unsigned mostShared = 0;

int contextObject;
thread_local std::vector<void *> contexts;
thread_local int captureMode = 0;

struct UserObject {
  void *pointer;
  void (*destroy)(void *);
  unsigned references;
};

struct Graph {
  std::vector<std::function<int()>> nodes;
  std::vector<UserObject *> objects;
};

struct Stream {
  Graph *recording = nullptr;
  uint64_t captureId = 0;
};
Stream defaultStream;
std::set<Stream *> recordingStreams;

struct Event {
  int time = 0;
};
int now = 0;

struct Module {
  std::string image;
};

struct Function {
  std::string name;
  int dynamicSharedLimit = 48 * 1024;
};
std::vector<Function *> functions;

/// Counts the call and says whether it is to fail.
int enter(const char *symbol) {
  ++calls[symbol];
  auto failure = failures.find(symbol);
  if (failure == failures.end())
    return success;
  int code = failure->second;
  failures.erase(failure);
  return code;
}

int enterContext(const char *symbol) {
  int code = enter(symbol);
  if (code != success)
    return code;
  return contexts.empty() || contexts.back() != &contextObject ? invalidContext
                                                               : success;
}

/// For what the driver does not allow while a graph is recorded.
int enterUnsafe(const char *symbol) {
  int code = enterContext(symbol);
  if (code != success || captureMode == 2)
    return code;
  return recordingStreams.empty() ? success : captureUnsupported;
}

Stream *toStream(void *stream) {
  if (stream == nullptr || stream == reinterpret_cast<void *>(1) ||
      stream == reinterpret_cast<void *>(2))
    return &defaultStream;
  return live.count(stream) ? static_cast<Stream *>(stream) : nullptr;
}

int enqueue(void *handle, std::function<int()> work) {
  Stream *stream = toStream(handle);
  if (!stream)
    return invalidHandle;
  if (!stream->recording)
    return work();
  stream->recording->nodes.push_back(std::move(work));
  return success;
}

template <typename T> T *make(T object) {
  T *result = new T(std::move(object));
  live.insert(result);
  return result;
}

template <typename T> int destroy(void *object) {
  if (!live.erase(object))
    return invalidHandle;
  delete static_cast<T *>(object);
  return success;
}

void releaseObject(UserObject *object, unsigned count) {
  object->references -= count;
  if (object->references != 0)
    return;
  object->destroy(object->pointer);
  live.erase(object);
  delete object;
}

int destroyGraph(void *handle) {
  if (!live.count(handle))
    return invalidHandle;
  for (UserObject *object : static_cast<Graph *>(handle)->objects)
    releaseObject(object, 1);
  return destroy<Graph>(handle);
}

int runKernel(const std::string &name, std::vector<float *> args,
              unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    if (name == "increment")
      args[1][i] = args[0][i] + 1;
    else if (name == "twice")
      args[1][i] = 2 * args[0][i];
    else if (name == "add")
      args[2][i] = args[0][i] + args[1][i];
    else
      return launchFailure;
  }
  return success;
}

int launch(void *handle, const unsigned *grid, const unsigned *block,
           unsigned shared, void *stream, void **parameters, void **extra) {
  auto *function = static_cast<Function *>(handle);
  if (int(shared) > function->dynamicSharedLimit || extra)
    return invalidValue;
  mostShared = std::max(mostShared, shared);
  std::vector<float *> args;
  for (int i = 0; i < (function->name == "add" ? 3 : 2); ++i)
    args.push_back(*static_cast<float **>(parameters[i]));
  unsigned threads = 1;
  for (int i = 0; i < 3; ++i)
    threads *= grid[i] * block[i];
  return enqueue(stream,
                 [=] { return runKernel(function->name, args, threads); });
}

#define LOCK std::lock_guard<std::recursive_mutex> lock(mutex)
#define ENTER(kind)                                                            \
  LOCK;                                                                        \
  if (int code = kind(__func__))                                               \
  return code

} // namespace

extern "C" {

void fakeCudaFailNext(const char *symbol, int code) {
  LOCK;
  failures[symbol] = code;
}

int fakeCudaCalls(const char *symbol) {
  LOCK;
  return calls[symbol];
}

int fakeCudaLiveObjects(void) {
  LOCK;
  return int(live.size());
}

unsigned fakeCudaMostShared(void) {
  LOCK;
  return mostShared;
}

int cuInit(unsigned) {
  ENTER(enter);
  return std::getenv("FAKE_CUDA_NO_DEVICE") ? noDevice : success;
}

int cuDriverGetVersion(int *version) {
  *version = 12040;
  return success;
}

int cuGetErrorName(int error, const char **text) {
  *text = error == outOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == noDevice       ? "CUDA_ERROR_NO_DEVICE"
          : error == invalidPtx     ? "CUDA_ERROR_INVALID_PTX"
          : error == notFound       ? "CUDA_ERROR_NOT_FOUND"
          : error == launchFailure  ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == noBinaryForGpu ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
                                    : nullptr;
  return *text ? success : invalidValue;
}

int cuGetErrorString(int error, const char **text) {
  *text = error == outOfMemory     ? "out of memory"
          : error == noDevice      ? "no CUDA-capable device is detected"
          : error == invalidPtx    ? "a PTX JIT compilation failed"
          : error == notFound      ? "named symbol not found"
          : error == launchFailure ? "an illegal memory access was encountered"
                                   : nullptr;
  return *text ? success : invalidValue;
}

int cuDeviceGetCount(int *count) {
  ENTER(enter);
  *count = 1;
  return success;
}

int cuDeviceGet(int *device, int ordinal) {
  ENTER(enter);
  *device = 7;
  return ordinal == 0 ? success : invalidValue;
}

int cuDeviceGetName(char *name, int size, int device) {
  ENTER(enter);
  std::strncpy(name, "Fake GPU", size_t(size));
  return device == 7 ? success : invalidValue;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  ENTER(enter);
  *bytes = size_t(1) << 30;
  return device == 7 ? success : invalidValue;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTER(enter);
  static const std::map<int, int> attributes = {
      {16, 132}, {75, 9}, {76, 0}, {97, 227 * 1024}};
  auto found = attributes.find(attribute);
  if (device != 7 || found == attributes.end())
    return invalidValue;
  *value = found->second;
  return success;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  ENTER(enter);
  *context = &contextObject;
  return device == 7 ? success : invalidValue;
}

int cuCtxGetCurrent(void **context) {
  ENTER(enter);
  *context = contexts.empty() ? nullptr : contexts.back();
  return success;
}

int cuCtxPushCurrent_v2(void *context) {
  ENTER(enter);
  contexts.push_back(context);
  return success;
}

int cuCtxPopCurrent_v2(void **context) {
  ENTER(enter);
  if (contexts.empty())
    return invalidContext;
  *context = contexts.back();
  contexts.pop_back();
  return success;
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned count,
                       int *options, void **values) {
  ENTER(enterUnsafe);
  std::string text(static_cast<const char *>(image));
  if (text.find("cubin") == 0)
    return text.find("for another chip") == std::string::npos
               ? (*module = make(Module{text}), success)
               : noBinaryForGpu;
  if (text.find(".version") != 0 || text.find("garbage") != std::string::npos) {
    size_t room = 0;
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 6)
        room = reinterpret_cast<size_t>(values[i]);
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5)
        std::strncpy(static_cast<char *>(values[i]),
                     "line 3; fatal : Parsing error\n", room);
    return invalidPtx;
  }
  *module = make(Module{text});
  return success;
}

int cuModuleUnload(void *module) {
  ENTER(enterUnsafe);
  return destroy<Module>(module);
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  ENTER(enterContext);
  if (!live.count(module))
    return invalidHandle;
  std::string wanted = std::string("kernel ") + name + "\n";
  if (static_cast<Module *>(module)->image.find(wanted) == std::string::npos)
    return notFound;
  static std::map<std::string, Function> known;
  known[name].name = name;
  *function = &known[name];
  return success;
}

int cuFuncGetAttribute(int *value, int attribute, void *handle) {
  ENTER(enterContext);
  bool hungry = static_cast<Function *>(handle)->name == "hungry";
  static const std::map<int, std::pair<int, int>> attributes = {
      {0, {1024, 256}}, {1, {64, 64}}, {3, {0, 128}}, {4, {32, 255}}};
  auto found = attributes.find(attribute);
  if (found == attributes.end())
    return invalidValue;
  *value = hungry ? found->second.second : found->second.first;
  return success;
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
  ENTER(enterContext);
  if (attribute != 8)
    return invalidValue;
  static_cast<Function *>(function)->dynamicSharedLimit = value;
  return success;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *,
                                                int threads, size_t) {
  ENTER(enterContext);
  *blocks = 2048 / threads;
  return success;
}

int cuLaunchKernel(void *handle, unsigned gridX, unsigned gridY, unsigned gridZ,
                   unsigned blockX, unsigned blockY, unsigned blockZ,
                   unsigned shared, void *stream, void **parameters,
                   void **extra) {
  ENTER(enterContext);
  const unsigned grid[] = {gridX, gridY, gridZ};
  const unsigned block[] = {blockX, blockY, blockZ};
  return launch(handle, grid, block, shared, stream, parameters, extra);
}

struct LaunchConfig {
  unsigned grid[3], block[3], shared;
  void *stream;
  struct {
    int id, pad, value;
    char rest[60];
  } *attributes;
  unsigned attributeCount;
};

int cuLaunchKernelEx(const LaunchConfig *config, void *function,
                     void **parameters, void **extra) {
  ENTER(enterContext);
  constexpr int programmaticStreamSerialization = 6;
  for (unsigned i = 0; i < config->attributeCount; ++i)
    if (config->attributes[i].id != programmaticStreamSerialization ||
        config->attributes[i].value != 1)
      return invalidValue;
  return launch(function, config->grid, config->block, config->shared,
                config->stream, parameters, extra);
}

int cuMemAlloc_v2(uintptr_t *memory, size_t bytes) {
  ENTER(enterUnsafe);
  if (bytes == 0)
    return invalidValue;
  if (bytes > size_t(1) << 30)
    return outOfMemory;
  void *result = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  live.insert(result);
  *memory = reinterpret_cast<uintptr_t>(result);
  return success;
}

int cuMemFree_v2(uintptr_t memory) {
  ENTER(enterUnsafe);
  void *pointer = reinterpret_cast<void *>(memory);
  if (!live.erase(pointer))
    return invalidValue;
  std::free(pointer);
  return success;
}

int cuMemcpyAsync(uintptr_t to, uintptr_t from, size_t bytes, void *stream) {
  ENTER(enterContext);
  return enqueue(stream, [=] {
    std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from),
                 bytes);
    return success;
  });
}

int cuMemsetD8Async(uintptr_t memory, unsigned char byte, size_t count,
                    void *stream) {
  ENTER(enterContext);
  return enqueue(stream, [=] {
    std::memset(reinterpret_cast<void *>(memory), byte, count);
    return success;
  });
}

int cuStreamCreate(void **stream, unsigned flags) {
  ENTER(enterContext);
  *stream = make(Stream());
  return flags <= 1 ? success : invalidValue;
}

int cuStreamDestroy_v2(void *stream) {
  ENTER(enterContext);
  return destroy<Stream>(stream);
}

int cuStreamSynchronize(void *stream) {
  ENTER(enterContext);
  Stream *known = toStream(stream);
  if (!known)
    return invalidHandle;
  return known->recording ? captureUnsupported : success;
}

int cuEventCreate(void **event, unsigned) {
  ENTER(enterContext);
  *event = make(Event());
  return success;
}

int cuEventRecord(void *event, void *stream) {
  ENTER(enterContext);
  if (!live.count(event))
    return invalidHandle;
  return enqueue(stream, [=] {
    static_cast<Event *>(event)->time = ++now;
    return success;
  });
}

int cuEventSynchronize(void *event) {
  ENTER(enterContext);
  return live.count(event) ? success : invalidHandle;
}

int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  ENTER(enterContext);
  int first = static_cast<Event *>(begin)->time;
  int last = static_cast<Event *>(end)->time;
  *milliseconds = float(last - first);
  return first && last ? success : invalidHandle;
}

int cuEventDestroy_v2(void *event) {
  ENTER(enterContext);
  return destroy<Event>(event);
}

int cuStreamBeginCapture_v2(void *handle, int mode) {
  ENTER(enterContext);
  if (mode < 0 || mode > 2)
    return invalidValue;
  Stream *stream = toStream(handle);
  if (!stream)
    return invalidHandle;
  if (stream == &defaultStream || stream->recording)
    return captureUnsupported;
  static uint64_t lastId = 0;
  stream->recording = make(Graph());
  stream->captureId = ++lastId;
  recordingStreams.insert(stream);
  return success;
}

int cuStreamEndCapture(void *handle, void **graph) {
  ENTER(enterContext);
  Stream *stream = toStream(handle);
  if (!stream || !stream->recording)
    return invalidHandle;
  *graph = stream->recording;
  stream->recording = nullptr;
  recordingStreams.erase(stream);
  return success;
}

int cuStreamGetCaptureInfo_v2(void *handle, int *status, uint64_t *id,
                              void **graph, const void **, size_t *) {
  ENTER(enterContext);
  Stream *stream = toStream(handle);
  if (!stream)
    return invalidHandle;
  *status = stream->recording ? 1 : 0;
  if (stream->recording) {
    *id = stream->captureId;
    *graph = stream->recording;
  }
  return success;
}

int cuThreadExchangeStreamCaptureMode(int *mode) {
  ENTER(enter);
  std::swap(*mode, captureMode);
  return success;
}

int cuGraphInstantiateWithFlags(void **instance, void *handle,
                                unsigned long long) {
  ENTER(enterContext);
  if (!live.count(handle))
    return invalidHandle;
  auto *graph = static_cast<Graph *>(handle);
  for (UserObject *object : graph->objects)
    ++object->references;
  *instance = make(Graph(*graph));
  return success;
}

int cuGraphLaunch(void *instance, void *stream) {
  ENTER(enterContext);
  if (!live.count(instance))
    return invalidHandle;
  for (const auto &node : static_cast<Graph *>(instance)->nodes)
    if (int code = enqueue(stream, node))
      return code;
  return success;
}

int cuGraphExecDestroy(void *instance) {
  ENTER(enterContext);
  return destroyGraph(instance);
}

int cuGraphDestroy(void *graph) {
  ENTER(enterContext);
  return destroyGraph(graph);
}

int cuUserObjectCreate(void **object, void *pointer, void (*destroy)(void *),
                       unsigned references, unsigned flags) {
  ENTER(enter);
  if (flags != 1)
    return invalidValue;
  *object = make(UserObject{pointer, destroy, references});
  return success;
}

int cuUserObjectRelease(void *object, unsigned count) {
  ENTER(enter);
  releaseObject(static_cast<UserObject *>(object), count);
  return success;
}

int cuGraphRetainUserObject(void *graph, void *handle, unsigned count,
                            unsigned flags) {
  ENTER(enter);
  auto *object = static_cast<UserObject *>(handle);
  if (flags != 1 || count != 1)
    return invalidValue;
  static_cast<Graph *>(graph)->objects.push_back(object);
  return success;
}

} // extern "C"
