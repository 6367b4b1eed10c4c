// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Runtime/Cuda.h"
#include "CudaDriver.h"

#include <algorithm>
#include <map>
#include <mutex>

using namespace deplo::runtime;
using namespace deplo::runtime::cuda;

namespace {

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

/// "sm_90a": compute capability 9.0 with its architecture-specific features.
struct Architecture {
  int major = 0, minor = 0;
  /// 'a': runs on exactly this; 'f': on its family (same major); 0: neither.
  char features = 0;

  static std::optional<Architecture> parse(std::string_view text) {
    if (text.substr(0, 3) != "sm_")
      return std::nullopt;
    text.remove_prefix(3);
    Architecture result;
    if (!text.empty() && (text.back() == 'a' || text.back() == 'f')) {
      result.features = text.back();
      text.remove_suffix(1);
    }
    if (text.size() < 2 || text.size() > 4 ||
        text.find_first_not_of("0123456789") != std::string_view::npos)
      return std::nullopt;
    int number = 0;
    for (char digit : text)
      number = number * 10 + (digit - '0');
    result.major = number / 10;
    result.minor = number % 10;
    return result;
  }

  /// Machine code runs on later chips of the same major number only.
  bool cubinRunsOn(int deviceMajor, int deviceMinor) const {
    if (deviceMajor != major)
      return false;
    return features == 'a' ? deviceMinor == minor : deviceMinor >= minor;
  }

  /// The driver compiles PTX for any later chip, unless it is tied to one.
  bool ptxRunsOn(int deviceMajor, int deviceMinor) const {
    if (features)
      return cubinRunsOn(deviceMajor, deviceMinor);
    return deviceMajor > major ||
           (deviceMajor == major && deviceMinor >= minor);
  }
};

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

/// Makes `context` current in this thread, and puts back what was. Costs one
/// cheap call where it is current already, as in a PyTorch process.
class CurrentContext {
public:
  CurrentContext(const Driver &driver, CUcontext context) : driver(driver) {
    CUcontext current = nullptr;
    CUresult result = driver.contextGetCurrent(&current);
    if (result == success && current == context)
      return;
    if (result == success)
      result = driver.contextPush(context);
    pushed = result == success;
    state = driver.check(result, "cuCtxPushCurrent");
  }
  ~CurrentContext() {
    CUcontext popped;
    if (pushed)
      driver.contextPop(&popped);
  }
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;

  const Status &status() const { return state; }

private:
  const Driver &driver;
  bool pushed = false;
  Status state = Status::success();
};

/// Lets this thread allocate, free, load and unload while some stream records
/// a graph; none of these is part of the recording.
class AllowDuringCapture {
public:
  explicit AllowDuringCapture(const Driver &driver) : driver(driver) {
    exchanged = driver.threadExchangeCaptureMode(&mode) == success;
  }
  ~AllowDuringCapture() {
    if (exchanged)
      driver.threadExchangeCaptureMode(&mode);
  }
  AllowDuringCapture(const AllowDuringCapture &) = delete;
  AllowDuringCapture &operator=(const AllowDuringCapture &) = delete;

private:
  const Driver &driver;
  int mode = captureModeRelaxed;
  bool exchanged;
};

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

class CudaKernels : public LoadedKernels {
public:
  CudaKernels(const Driver &driver, CUcontext context)
      : driver(driver), context(context) {}

  ~CudaKernels() override {
    CurrentContext current(driver, context);
    AllowDuringCapture allow(driver);
    for (CUmodule module : modules)
      driver.moduleUnload(module);
  }

  Status load(const Package &package, const DeviceInfo &device, int major,
              int minor);

  Status launch(size_t index, void *const *args, size_t count, Stream stream,
                const SizedLaunch &sized) override {
    void *parameters[maxKernelArguments + maxTensorMaps];
    CurrentContext current(driver, context);
    if (!current.status().ok())
      return current.status();
    const Kernel &kernel = kernels[index];
    for (size_t i = 0; i < count; ++i)
      parameters[kernel.maps.size() + i] = const_cast<void **>(&args[i]);
    CUtensorMap maps[maxTensorMaps];
    const std::vector<TensorMapInfo> &infos =
        sized.maps ? *sized.maps : kernel.maps;
    for (size_t i = 0; i < infos.size(); ++i) {
      Status status = encodeMap(kernel, infos[i], args, maps[i]);
      if (!status.ok())
        return status;
      parameters[i] = &maps[i];
    }
    const uint32_t gridX = sized.blocks != 0 ? sized.blocks : kernel.grid[0];
    if (kernel.programmatic && driver.launchKernelEx)
      return launchProgrammatically(kernel, gridX, parameters, stream);
    CUresult result = driver.launchKernel(
        kernel.function, gridX, kernel.grid[1], kernel.grid[2], kernel.block[0],
        kernel.block[1], kernel.block[2], kernel.sharedBytes, stream,
        parameters, nullptr);
    if (result == success)
      return Status::success();
    return driver.failure(result,
                          "cuLaunchKernel of kernel '" + kernel.name + "'");
  }

  KernelAttributes attributes(size_t kernel) const override {
    return kernels[kernel].attributes;
  }

private:
  struct Kernel {
    std::string name;
    CUfunction function = nullptr;
    std::array<uint32_t, 3> grid, block;
    uint32_t sharedBytes = 0;
    bool programmatic = false;
    std::vector<TensorMapInfo> maps;
    KernelAttributes attributes;
  };

  Status encodeMap(const Kernel &kernel, const TensorMapInfo &info,
                   void *const *args, CUtensorMap &map) const {
    const uint32_t rank = uint32_t(info.extents.size());
    uint64_t extents[maxTensorMapRank], strides[maxTensorMapRank];
    uint32_t box[maxTensorMapRank], elementStrides[maxTensorMapRank];
    std::copy(info.extents.begin(), info.extents.end(), extents);
    std::copy(info.strides.begin(), info.strides.end(), strides);
    std::copy(info.box.begin(), info.box.end(), box);
    std::fill_n(elementStrides, rank, 1);
    const int type = info.elementBytes == 1   ? tensorMapUint8
                     : info.elementBytes == 2 ? tensorMapBfloat16
                     : info.elementBytes == 4 ? tensorMapUint32
                                              : tensorMapUint64;
    int swizzle = tensorMapNoSwizzle;
    for (uint32_t bytes = info.swizzle; bytes >= 32; bytes /= 2)
      ++swizzle;
    CUresult result = driver.tensorMapEncodeTiled(
        &map, type, rank,
        static_cast<char *>(args[info.argument]) + info.offset, extents,
        strides, box, elementStrides, tensorMapNoInterleave, swizzle,
        tensorMapL2Promotion128, tensorMapFillsZeros);
    if (result == success)
      return Status::success();
    return driver.failure(result, "cuTensorMapEncodeTiled of argument " +
                                      std::to_string(info.argument) +
                                      " of kernel '" + kernel.name + "'");
  }

  /// Lets the kernel start while those before it in the stream still run: it
  /// waits for them itself.
  Status launchProgrammatically(const Kernel &kernel, uint32_t gridX,
                                void **parameters, Stream stream) const {
    CUlaunchAttribute attribute = {};
    attribute.id = attributeProgrammaticStreamSerialization;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config = {gridX,
                                   kernel.grid[1],
                                   kernel.grid[2],
                                   kernel.block[0],
                                   kernel.block[1],
                                   kernel.block[2],
                                   kernel.sharedBytes,
                                   stream,
                                   &attribute,
                                   1};
    CUresult result =
        driver.launchKernelEx(&config, kernel.function, parameters, nullptr);
    if (result == success)
      return Status::success();
    return driver.failure(result,
                          "cuLaunchKernelEx of kernel '" + kernel.name + "'");
  }

  struct Images {
    std::optional<std::string_view> cubin, ptx;
  };

  Result<CUmodule> loadModule(const Images &images, const DeviceInfo &device,
                              const std::string &target);
  CUresult loadImage(std::string_view image, CUmodule &module,
                     std::string &log);
  Result<Kernel> loadKernel(const KernelInfo &info, CUmodule module,
                            const DeviceInfo &device);

  const Driver &driver;
  const CUcontext context;
  std::vector<CUmodule> modules;
  std::vector<Kernel> kernels;
};

} // namespace

Status CudaKernels::load(const Package &package, const DeviceInfo &device,
                         int major, int minor) {
  const std::string &target = package.manifest.target;
  std::optional<Architecture> architecture = Architecture::parse(target);
  if (!architecture)
    return Status::failure("the package's target '" + target +
                           "' is not an NVIDIA architecture such as 'sm_90a'; "
                           "compile the program again");

  CurrentContext current(driver, context);
  if (!current.status().ok())
    return current.status();
  AllowDuringCapture allow(driver);

  // Kernels that name the same blobs share a module.
  std::map<std::pair<int64_t, int64_t>, CUmodule> moduleOf;
  for (const KernelInfo &info : package.manifest.kernels) {
    auto number = [](std::optional<uint32_t> blob) {
      return blob ? int64_t(*blob) : -1;
    };
    CUmodule &module = moduleOf[{number(info.cubin), number(info.ptx)}];
    if (!module) {
      Images images;
      if (info.cubin && architecture->cubinRunsOn(major, minor))
        images.cubin = package.blobs[*info.cubin];
      if (info.ptx && architecture->ptxRunsOn(major, minor))
        images.ptx = package.blobs[*info.ptx];
      Result<CUmodule> loaded = loadModule(images, device, target);
      if (!loaded.ok())
        return loaded.status();
      module = *loaded;
      modules.push_back(module);
    }
    Result<Kernel> kernel = loadKernel(info, module, device);
    if (!kernel.ok())
      return kernel.status();
    kernels.push_back(std::move(*kernel));
  }
  return Status::success();
}

Result<CUmodule> CudaKernels::loadModule(const Images &images,
                                         const DeviceInfo &device,
                                         const std::string &target) {
  CUmodule module = nullptr;
  CUresult result = success;
  std::string log;
  const std::string place = " on " + device.name + " (" + device.description +
                            ", " + device.target + ")";
  if (!images.cubin && !images.ptx)
    return Status::failure("the package is made for " + target +
                           " and cannot run" + place +
                           "; compile it with --target " + device.target);
  if (images.cubin) {
    result = loadImage(*images.cubin, module, log);
    if (result == success)
      return module;
    bool otherImageMayDo =
        result == errorNoBinaryForGpu || result == errorInvalidImage;
    if (!images.ptx || !otherImageMayDo)
      return driver.failure(result, "cuModuleLoadDataEx of the " + target +
                                        " cubin" + place + log);
  }
  result = loadImage(*images.ptx, module, log);
  if (result == success)
    return module;
  std::string call = "cuModuleLoadDataEx of the " + target + " PTX" + place;
  if (result == errorUnsupportedPtxVersion)
    return Status::failure(driver.failure(result, call).message() +
                           "; install a newer driver or compile with ptxas, "
                           "which puts machine code into the package");
  return driver.failure(result, call + log);
}

/// Leaves the driver's compilation log in `log`, ready to be appended.
CUresult CudaKernels::loadImage(std::string_view image, CUmodule &module,
                                std::string &log) {
  // The driver wants PTX to end in a zero byte and a cubin to be aligned.
  std::string copy(image);
  char errors[4096] = "", notes[1024] = "";
  int options[] = {jitErrorLogBuffer, jitErrorLogBufferBytes, jitInfoLogBuffer,
                   jitInfoLogBufferBytes};
  void *values[] = {errors, reinterpret_cast<void *>(sizeof(errors) - 1), notes,
                    reinterpret_cast<void *>(sizeof(notes) - 1)};
  CUresult result =
      driver.moduleLoadDataEx(&module, copy.c_str(), 4, options, values);
  log = errors;
  while (!log.empty() && (log.back() == '\n' || log.back() == ' '))
    log.pop_back();
  std::replace(log.begin(), log.end(), '\n', ' ');
  if (!log.empty())
    log = " (" + log + ")";
  return result;
}

Result<CudaKernels::Kernel> CudaKernels::loadKernel(const KernelInfo &info,
                                                    CUmodule module,
                                                    const DeviceInfo &device) {
  const std::string ofKernel = " of kernel '" + info.name + "'";
  Kernel kernel;
  kernel.name = info.name;
  kernel.grid = info.grid;
  kernel.block = info.block;
  kernel.sharedBytes = info.sharedBytes;
  kernel.programmatic = info.programmatic;
  kernel.maps = info.maps;
  if (!kernel.maps.empty() && !driver.tensorMapEncodeTiled)
    return Status::failure("kernel '" + info.name +
                           "' needs tensor maps, which drivers before CUDA "
                           "12.0 don't make; install a later one");
  CUresult result =
      driver.moduleGetFunction(&kernel.function, module, info.name.c_str());
  if (result != success)
    return driver.failure(result, "cuModuleGetFunction" + ofKernel);

  // Asking for attributes also makes a lazily loading driver load the kernel
  // now: the first launch may be inside the recording of a graph.
  int maxThreads = 0, staticShared = 0, localBytes = 0, registers = 0;
  const std::pair<int, int *> wanted[] = {
      {functionMaxThreadsPerBlock, &maxThreads},
      {functionSharedBytes, &staticShared},
      {functionLocalBytes, &localBytes},
      {functionRegisters, &registers}};
  for (auto [attribute, value] : wanted) {
    result = driver.functionGetAttribute(value, attribute, kernel.function);
    if (result != success)
      return driver.failure(result, "cuFuncGetAttribute" + ofKernel);
  }

  const uint32_t threads = info.block[0] * info.block[1] * info.block[2];
  if (threads > uint32_t(maxThreads))
    return Status::failure(
        "kernel '" + info.name + "' has blocks of " + std::to_string(threads) +
        " threads, but with its " + std::to_string(registers) + " registers " +
        device.name + " runs at most " + std::to_string(maxThreads) +
        "; compile it with fewer warps");
  const uint64_t shared = uint64_t(staticShared) + info.sharedBytes;
  if (shared > device.sharedBytesPerBlock)
    return Status::failure(
        "kernel '" + info.name + "' needs " + std::to_string(shared) +
        " bytes of shared memory, but " + device.name + " (" +
        device.description + ") has " +
        std::to_string(device.sharedBytesPerBlock) +
        " for a block; compile it with --target " + device.target);

  constexpr uint64_t sharedWithoutOptin = 48 * 1024;
  if (shared > sharedWithoutOptin) {
    result = driver.functionSetAttribute(
        kernel.function, functionMaxDynamicSharedBytes, int(info.sharedBytes));
    if (result != success)
      return driver.failure(result, "cuFuncSetAttribute" + ofKernel);
  }
  constexpr uint32_t portableClusterBlocks = 8;
  if (info.clusterBlocks > portableClusterBlocks) {
    result = driver.functionSetAttribute(kernel.function,
                                         functionNonPortableClusters, 1);
    if (result != success)
      return driver.failure(result, "cuFuncSetAttribute" + ofKernel);
  }
  int blocks = 0;
  result = driver.occupancy(&blocks, kernel.function, int(threads),
                            info.sharedBytes);
  if (result != success)
    return driver.failure(
        result, "cuOccupancyMaxActiveBlocksPerMultiprocessor" + ofKernel);
  kernel.attributes.registers = uint32_t(registers);
  kernel.attributes.localBytes = uint32_t(localBytes);
  kernel.attributes.staticSharedBytes = uint32_t(staticShared);
  kernel.attributes.blocksPerMultiprocessor = uint32_t(blocks);
  return kernel;
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

namespace {

/// What a Graph handle of this device points to.
struct RecordedGraph {
  CUgraph graph = nullptr;
  CUgraphExec instance = nullptr;
};

class CudaDevice : public Device {
public:
  static Result<std::unique_ptr<Device>>
  open(std::shared_ptr<const Driver> driver, int ordinal);

  const DeviceInfo &info() const override { return description; }

  Result<std::unique_ptr<LoadedKernels>> load(const Package &package) override {
    auto kernels = std::make_unique<CudaKernels>(driver, context);
    Status status = kernels->load(package, description, major, minor);
    if (!status.ok())
      return status;
    return std::unique_ptr<LoadedKernels>(std::move(kernels));
  }

  Result<void *> allocate(size_t bytes) override {
    if (bytes == 0)
      return static_cast<void *>(nullptr);
    AllowDuringCapture allow(driver);
    CUdeviceptr memory = 0;
    Status status = call("cuMemAlloc of " + std::to_string(bytes) + " bytes",
                         [&] { return driver.memAlloc(&memory, bytes); });
    if (!status.ok())
      return status;
    return reinterpret_cast<void *>(memory);
  }

  Status free(void *memory) override {
    if (!memory)
      return Status::success();
    AllowDuringCapture allow(driver);
    return call("cuMemFree", [&] { return driver.memFree(address(memory)); });
  }

  Status copy(void *to, const void *from, size_t bytes,
              Stream stream) override {
    if (bytes == 0)
      return Status::success();
    return call("cuMemcpyAsync", [&] {
      return driver.memcpyAsync(address(to), address(from), bytes, stream);
    });
  }

  Status fill(void *memory, uint8_t byte, size_t bytes,
              Stream stream) override {
    if (bytes == 0)
      return Status::success();
    return call("cuMemsetD8Async", [&] {
      return driver.memsetAsync(address(memory), byte, bytes, stream);
    });
  }

  Result<Stream> createStream() override {
    CUstream stream = nullptr;
    Status status = call("cuStreamCreate", [&] {
      return driver.streamCreate(&stream, streamNonBlocking);
    });
    if (!status.ok())
      return status;
    return stream;
  }

  /// Waits first: the driver may give the handle to a new stream at once, and
  /// arenas are told apart by it.
  Status destroyStream(Stream stream) override {
    Status status = synchronize(stream);
    if (!status.ok())
      return status;
    return call("cuStreamDestroy",
                [&] { return driver.streamDestroy(stream); });
  }

  Status synchronize(Stream stream) override {
    return call("cuStreamSynchronize",
                [&] { return driver.streamSynchronize(stream); });
  }

  Result<Event> createEvent() override {
    CUevent event = nullptr;
    Status status =
        call("cuEventCreate", [&] { return driver.eventCreate(&event, 0); });
    if (!status.ok())
      return status;
    return event;
  }

  Status recordEvent(Event event, Stream stream) override {
    return call("cuEventRecord",
                [&] { return driver.eventRecord(event, stream); });
  }

  Result<float> elapsed(Event begin, Event end) override {
    Status status = call("cuEventSynchronize",
                         [&] { return driver.eventSynchronize(end); });
    if (!status.ok())
      return status;
    float milliseconds = 0;
    status = call("cuEventElapsedTime", [&] {
      return driver.eventElapsedTime(&milliseconds, begin, end);
    });
    if (!status.ok())
      return status;
    return milliseconds;
  }

  Status destroyEvent(Event event) override {
    return call("cuEventDestroy", [&] { return driver.eventDestroy(event); });
  }

  // Thread-local mode: what other threads do meanwhile is their affair.
  Status beginCapture(Stream stream) override {
    return call("cuStreamBeginCapture", [&] {
      return driver.streamBeginCapture(stream, captureModeThreadLocal);
    });
  }

  Result<Graph> endCapture(Stream stream) override {
    auto recorded = std::make_unique<RecordedGraph>();
    Status status = call("cuStreamEndCapture", [&] {
      return driver.streamEndCapture(stream, &recorded->graph);
    });
    if (!status.ok())
      return status;
    status = call("cuGraphInstantiate", [&] {
      return driver.graphInstantiate(&recorded->instance, recorded->graph, 0);
    });
    if (!status.ok()) {
      (void)call("cuGraphDestroy",
                 [&] { return driver.graphDestroy(recorded->graph); });
      return status;
    }
    return Graph(recorded.release());
  }

  Status launchGraph(Graph graph, Stream stream) override {
    auto *recorded = static_cast<RecordedGraph *>(graph);
    return call("cuGraphLaunch",
                [&] { return driver.graphLaunch(recorded->instance, stream); });
  }

  Status destroyGraph(Graph graph) override {
    std::unique_ptr<RecordedGraph> recorded(
        static_cast<RecordedGraph *>(graph));
    Status status = call("cuGraphExecDestroy", [&] {
      return driver.graphExecDestroy(recorded->instance);
    });
    Status second = call("cuGraphDestroy",
                         [&] { return driver.graphDestroy(recorded->graph); });
    return status.ok() ? second : status;
  }

  Result<Capture> capture(Stream stream) override {
    int state = captureStatusNone;
    Capture result;
    Status status = call("cuStreamGetCaptureInfo", [&] {
      return driver.streamGetCaptureInfo(stream, &state, &result.id,
                                         &result.graph, nullptr, nullptr);
    });
    if (!status.ok())
      return status;
    if (state == captureStatusNone)
      return Capture();
    if (state != captureStatusActive)
      return Status::failure("the recording of this stream has failed already; "
                             "end it and begin again");
    return result;
  }

  Status whenGraphDestroyed(void *graph,
                            std::function<void()> action) override {
    using Action = std::function<void()>;
    auto owned = std::make_unique<Action>(std::move(action));
    auto runOnce = [](void *pointer) {
      std::unique_ptr<Action> action(static_cast<Action *>(pointer));
      (*action)();
    };
    CUuserObject object = nullptr;
    Status status = call("cuUserObjectCreate", [&] {
      return driver.userObjectCreate(&object, owned.get(), runOnce, 1,
                                     userObjectNoDestructorSync);
    });
    if (!status.ok())
      return status;
    Action *held = owned.release();
    status = call("cuGraphRetainUserObject", [&] {
      return driver.graphRetainUserObject(graph, object, 1,
                                          graphUserObjectMove);
    });
    if (status.ok())
      return status;
    // The action is for a success only; releasing the object runs it.
    *held = [] {};
    driver.userObjectRelease(object, 1);
    return status;
  }

  uintptr_t orderKey(Stream stream) const override {
    if (stream == streamPerThread)
      return threadKey();
    if (stream == streamLegacyHandle)
      stream = streamLegacy;
    return address(stream);
  }

private:
  explicit CudaDevice(std::shared_ptr<const Driver> shared)
      : owner(std::move(shared)), driver(*owner) {}

  static uintptr_t address(const void *pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
  }

  /// Runs one call into the driver with this device's context current.
  template <typename Call, typename Function>
  Status call(Call &&name, Function &&function) const {
    CurrentContext current(driver, context);
    if (!current.status().ok())
      return current.status();
    CUresult result = function();
    return result == success ? Status::success() : driver.failure(result, name);
  }

  const std::shared_ptr<const Driver> owner;
  const Driver &driver;
  CUcontext context = nullptr;
  int major = 0, minor = 0;
  DeviceInfo description;
};

} // namespace

Result<std::unique_ptr<Device>>
CudaDevice::open(std::shared_ptr<const Driver> owner, int ordinal) {
  std::unique_ptr<CudaDevice> result(new CudaDevice(std::move(owner)));
  const Driver &driver = result->driver;
  DeviceInfo &info = result->description;
  info.name = "cuda:" + std::to_string(ordinal);
  const std::string of = " of " + info.name;

  CUdevice device = 0;
  Status status =
      driver.check(driver.deviceGet(&device, ordinal), "cuDeviceGet" + of);
  if (!status.ok())
    return status;
  char name[256] = "";
  status = driver.check(driver.deviceGetName(name, sizeof(name) - 1, device),
                        "cuDeviceGetName" + of);
  if (!status.ok())
    return status;
  info.description = name;
  size_t bytes = 0;
  status = driver.check(driver.deviceTotalMem(&bytes, device),
                        "cuDeviceTotalMem" + of);
  if (!status.ok())
    return status;
  info.memoryBytes = bytes;

  int multiprocessors = 0, shared = 0;
  const std::pair<int, int *> wanted[] = {
      {attributeMultiprocessorCount, &multiprocessors},
      {attributeComputeCapabilityMajor, &result->major},
      {attributeComputeCapabilityMinor, &result->minor},
      {attributeMaxSharedBytesPerBlockOptin, &shared}};
  for (auto [attribute, value] : wanted) {
    status = driver.check(driver.deviceGetAttribute(value, attribute, device),
                          "cuDeviceGetAttribute" + of);
    if (!status.ok())
      return status;
  }
  info.multiprocessors = uint32_t(multiprocessors);
  info.sharedBytesPerBlock = uint32_t(shared);
  info.target =
      "sm_" + std::to_string(result->major) + std::to_string(result->minor);

  // Kept for the life of the process, as the CUDA run time keeps it.
  status = driver.check(driver.primaryContextRetain(&result->context, device),
                        "cuDevicePrimaryCtxRetain" + of);
  if (!status.ok())
    return status;
  return std::unique_ptr<Device>(std::move(result));
}

DeviceFactory deplo::runtime::cudaDeviceFactory(std::string library) {
  /// The driver, opened at the first question.
  struct Opening {
    std::string library;
    std::once_flag once;
    std::optional<Result<Driver>> driver;

    const Result<Driver> &get() {
      std::call_once(once, [&] { driver = Driver::open(library); });
      return *driver;
    }
  };
  auto opening = std::make_shared<Opening>();
  opening->library = std::move(library);

  DeviceFactory factory;
  factory.count = [opening]() -> Result<int> {
    const Result<Driver> &driver = opening->get();
    if (!driver.ok())
      return driver.status();
    int count = 0;
    Status status =
        driver->check(driver->deviceGetCount(&count), "cuDeviceGetCount");
    if (!status.ok())
      return status;
    return count;
  };
  factory.open = [opening](int ordinal) -> Result<std::unique_ptr<Device>> {
    const Result<Driver> &driver = opening->get();
    if (!driver.ok())
      return driver.status();
    return CudaDevice::open({opening, &*driver}, ordinal);
  };
  return factory;
}
