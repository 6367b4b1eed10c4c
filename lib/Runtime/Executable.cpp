// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Runtime/Executable.h"
#include "ArenaPool.h"

#include <algorithm>

using namespace deplo::runtime;

Result<std::unique_ptr<Executable>> Executable::load(std::string_view bytes,
                                                     Device &device) {
  Result<Package> package = readPackage(bytes);
  if (!package.ok())
    return package.status();
  Manifest &manifest = package->manifest;
  const std::string &deviceName = device.info().name;
  if (!device.runsPackagesFor(manifest.device))
    return Status::failure("the package is made for device '" +
                           manifest.device + "' and cannot be loaded on '" +
                           deviceName + "'; compile it for that device");
  Result<std::unique_ptr<LoadedKernels>> kernels = device.load(*package);
  if (!kernels.ok())
    return kernels.status();
  return std::unique_ptr<Executable>(
      new Executable(device, std::move(manifest), std::move(*kernels)));
}

bool Executable::mayBeEmpty(const TensorInfo &tensor) const {
  std::vector<int64_t> least;
  for (const SizeInfo &size : header.sizes)
    least.push_back(size.min);
  return std::any_of(
      tensor.shape.begin(), tensor.shape.end(), [&](int64_t extent) {
        return evaluateNumber(extent, header.sizes, least.data()) == 0;
      });
}

Executable::Executable(Device &device, Manifest manifest,
                       std::unique_ptr<LoadedKernels> loadedKernels)
    : target(device), header(std::move(manifest)),
      kernels(std::move(loadedKernels)) {
  for (const auto *tensors : {&header.inputs, &header.outputs})
    for (const TensorInfo &tensor : *tensors)
      bufferChecks.push_back(
          {uintptr_t(tensor.alignment) - 1, mayBeEmpty(tensor)});

  const size_t firstSlotOf[] = {0, header.inputs.size(), bufferCount(),
                                bufferCount() + header.temps.size()};
  std::vector<bool> isWritten(firstSlotOf[3] + header.sizes.size(), false);
  for (const LaunchInfo &launch : header.launches) {
    launches.push_back(
        {launch.kernel, slots.size(), launch.args.size(), launch.isPrepared});
    for (const LaunchArgument &arg : launch.args) {
      slots.push_back(uint32_t(firstSlotOf[size_t(arg.kind)] + arg.index));
      extents.push_back(extentOf(arg, isWritten[slots.back()]));
    }
    for (size_t i = launches.back().firstSlot; i < slots.size(); ++i)
      isWritten[slots[i]] = true;
  }
  if (!header.temps.empty())
    arenas =
        std::make_shared<ArenaPool>(device, header.arenaBytes, header.temps);
  if (header.preparedBytes != 0 && header.preparedBytes != header.arenaBytes)
    arenasOfPrepared = std::make_shared<ArenaPool>(
        device, header.arenaBytes - header.preparedBytes, header.temps);
}

Executable::~Executable() {
  for (const auto &pool : {arenas, arenasOfPrepared})
    if (pool)
      pool->close();
}

PreparedWeights::~PreparedWeights() { (void)device.free(memory); }

/// Outputs and temporaries have no values before a launch had them.
ArgumentExtent Executable::extentOf(const LaunchArgument &arg,
                                    bool isWritten) const {
  ArgumentExtent extent;
  if (arg.kind == LaunchArgument::Kind::Size) {
    extent.isMemory = false;
    return extent;
  }
  if (arg.kind == LaunchArgument::Kind::Temp) {
    extent.name = "a temporary";
    extent.bytes = header.temps[arg.index].bytes;
    extent.isInitialized = isWritten;
    return extent;
  }
  bool isInput = arg.kind == LaunchArgument::Kind::Input;
  const TensorInfo &tensor =
      isInput ? header.inputs[arg.index] : header.outputs[arg.index];
  extent.name = !tensor.name.empty() ? std::string_view(tensor.name)
                : isInput            ? "an input"
                                     : "an output";
  extent.bytes = uint64_t(tensorBytes(tensor).value_or(0));
  extent.isWritable = !isInput;
  extent.isInitialized = isInput || isWritten;
  return extent;
}

uint64_t Executable::bytesOf(const TensorInfo &tensor,
                             const int64_t *sizes) const {
  TensorInfo sized = tensor;
  for (int64_t &extent : sized.shape)
    extent = evaluateNumber(extent, header.sizes, sizes);
  for (int64_t &stride : sized.strides)
    stride = evaluateNumber(stride, header.sizes, sizes);
  return uint64_t(tensorBytes(sized).value_or(0));
}

std::vector<ArgumentExtent> Executable::extentsOf(const Launch &launch,
                                                  const int64_t *sizes) const {
  std::vector<ArgumentExtent> result;
  for (size_t i = launch.firstSlot; i < launch.firstSlot + launch.slotCount;
       ++i) {
    result.push_back(extents[i]);
    if (slots[i] < bufferCount())
      result.back().bytes = bytesOf(buffer(slots[i]), sizes);
  }
  return result;
}

std::vector<TensorMapInfo> Executable::mapsOf(const KernelInfo &kernel,
                                              const int64_t *sizes) const {
  std::vector<TensorMapInfo> result = kernel.maps;
  for (TensorMapInfo &map : result)
    for (std::vector<int64_t> *numbers : {&map.extents, &map.strides})
      for (int64_t &number : *numbers)
        number = evaluateNumber(number, header.sizes, sizes);
  return result;
}

const TensorInfo &Executable::buffer(size_t index) const {
  return index < header.inputs.size()
             ? header.inputs[index]
             : header.outputs[index - header.inputs.size()];
}

Status Executable::run(void *const *buffers, size_t count, const int64_t *sizes,
                       size_t sizeCount, Stream stream) {
  Status status = checkSizes(sizes, sizeCount);
  if (status.ok())
    status = checkBuffers(buffers, count);
  if (!status.ok())
    return status;
  return launchIn(arenas.get(), Which::All, {buffers, nullptr, sizes, nullptr},
                  stream);
}

Status Executable::run(void *const *buffers, size_t count,
                       const PreparedWeights &weights, Stream stream) {
  Status status = checkSizes(nullptr, 0);
  if (status.ok())
    status = checkBuffers(buffers, count);
  if (!status.ok())
    return status;
  const auto &pool = header.preparedBytes != 0 ? arenasOfPrepared : arenas;
  return launchIn(pool.get(), Which::Others,
                  {buffers, nullptr, nullptr, &weights}, stream);
}

Result<std::unique_ptr<PreparedWeights>>
Executable::prepare(void *const *buffers, size_t count, Stream stream) {
  std::unique_ptr<PreparedWeights> weights(new PreparedWeights(target));
  Result<void *> memory = target.allocate(header.preparedBytes);
  if (!memory.ok())
    return memory.status();
  weights->memory = *memory;
  uint64_t first = header.arenaBytes - header.preparedBytes;
  for (const TempInfo &temp : header.temps)
    weights->temps.push_back(isPrepared(header, temp)
                                 ? static_cast<char *>(*memory) +
                                       (temp.offset - first)
                                 : nullptr);
  Status status = prepareAgain(*weights, buffers, count, stream);
  if (!status.ok())
    return status;
  return std::move(weights);
}

Status Executable::prepareAgain(PreparedWeights &weights, void *const *buffers,
                                size_t count, Stream stream) {
  Status status = checkSizes(nullptr, 0);
  if (status.ok())
    status = checkNumber(count);
  if (!status.ok())
    return status;
  Result<Capture> capture = target.capture(stream);
  if (!capture.ok())
    return capture.status();
  if (capture->id != 0)
    return Status::failure("weights of '" + header.name +
                           "' can't be prepared on a stream that records a "
                           "graph; prepare them before");
  status =
      launch(Which::Prepared, {buffers, nullptr, nullptr, &weights}, stream);
  return status.ok() ? target.synchronize(stream) : status;
}

Status Executable::launchIn(ArenaPool *pool, Which which, Arguments arguments,
                            Stream stream) {
  if (!pool)
    return launch(which, arguments, stream);
  Result<Arena *> arena = pool->arenaFor(stream);
  if (!arena.ok())
    return arena.status();
  arguments.temps = (*arena)->temps.data();
  std::lock_guard<std::mutex> lock((*arena)->enqueuing);
  return launch(which, arguments, stream);
}

Status Executable::checkSizes(const int64_t *sizes, size_t count) const {
  if (count != header.sizes.size())
    return Status::failure("'" + header.name + "' takes " +
                           std::to_string(header.sizes.size()) +
                           " sizes, got " + std::to_string(count));
  for (size_t i = 0; i < count; ++i) {
    const SizeInfo &size = header.sizes[i];
    if (sizes[i] < size.min || sizes[i] > size.max)
      return Status::failure(
          "size '" + size.name + "' is " + std::to_string(sizes[i]) +
          ", but '" + header.name + "' is compiled for " +
          std::to_string(size.min) + " to " + std::to_string(size.max) +
          "; compile it for a range that holds it");
  }
  return Status::success();
}

Result<uint32_t> Executable::getBlocks(const KernelInfo &kernel,
                                       const int64_t *sizes) const {
  constexpr int64_t maxBlocks = 0x7fffffff;
  int64_t blocks = 1;
  const int64_t most = kernel.mostBlocks.value_or(maxBlocks);
  bool isMore = false;
  for (const GridAxis &axis : kernel.axes) {
    int64_t extent = evaluateNumber(axis.extent, header.sizes, sizes);
    int64_t count = extent / axis.step + (extent % axis.step != 0);
    if (count == 0)
      return uint32_t(0);
    isMore |= count > most / blocks;
    blocks = isMore ? most : blocks * count;
  }
  if (isMore && !kernel.mostBlocks)
    return Status::failure(
        "kernel '" + kernel.name + "' would need more than " +
        std::to_string(maxBlocks) + " blocks for these sizes; split the input");
  return uint32_t(blocks);
}

Status Executable::checkNumber(size_t count) const {
  if (count == bufferCount())
    return Status::success();
  return Status::failure("'" + header.name + "' takes " +
                         std::to_string(header.inputs.size()) + " inputs and " +
                         std::to_string(header.outputs.size()) +
                         " outputs, got " + std::to_string(count) + " buffers");
}

Status Executable::checkBuffers(void *const *buffers, size_t count) const {
  auto describe = [&](size_t index) {
    size_t inputs = header.inputs.size();
    std::string text = index < inputs
                           ? "input " + std::to_string(index)
                           : "output " + std::to_string(index - inputs);
    const std::string &name = buffer(index).name;
    return name.empty() ? text : text + " '" + name + "'";
  };
  Status status = checkNumber(count);
  if (!status.ok())
    return status;
  for (size_t i = 0; i < count; ++i) {
    auto address = reinterpret_cast<uintptr_t>(buffers[i]);
    if (address & bufferChecks[i].alignmentMask)
      return Status::failure(
          describe(i) + " must be aligned to " +
          std::to_string(bufferChecks[i].alignmentMask + 1) +
          " bytes; copy it to aligned memory or compile with a "
          "smaller alignment");
    if (!address && !bufferChecks[i].mayBeNull)
      return Status::failure(describe(i) + " is a null pointer");
  }
  return Status::success();
}

Status Executable::launch(Which which, const Arguments &arguments,
                          Stream stream) {
  void *args[maxKernelArguments];
  const size_t firstTemp = bufferCount();
  const size_t firstSize = firstTemp + header.temps.size();
  // A size goes where a pointer would.
  auto getArgument = [&](size_t slot) -> void * {
    if (slot < firstTemp)
      return arguments.buffers[slot];
    if (slot >= firstSize)
      return reinterpret_cast<void *>(
          intptr_t(arguments.sizes[slot - firstSize]));
    size_t temp = slot - firstTemp;
    void *prepared =
        arguments.prepared ? arguments.prepared->temps[temp] : nullptr;
    return prepared ? prepared : arguments.temps[temp];
  };
  for (const Launch &launch : launches) {
    if (which != Which::All && launch.isPrepared != (which == Which::Prepared))
      continue;
    const uint32_t *slot = slots.data() + launch.firstSlot;
    for (size_t i = 0; i < launch.slotCount; ++i)
      args[i] = getArgument(slot[i]);
    const KernelInfo &kernel = header.kernels[launch.kernel];
    SizedLaunch sized;
    if (!kernel.axes.empty()) {
      Result<uint32_t> needed = getBlocks(kernel, arguments.sizes);
      if (!needed.ok())
        return needed.status();
      if (*needed == 0)
        continue; // nothing to do
      sized.blocks = *needed;
    }
    std::vector<TensorMapInfo> maps;
    if (!header.sizes.empty() && !kernel.maps.empty()) {
      maps = mapsOf(kernel, arguments.sizes);
      sized.maps = &maps;
    }
    std::vector<ArgumentExtent> own;
    const ArgumentExtent *within = extents.data() + launch.firstSlot;
    if (!header.sizes.empty() && kernels->looksAtExtents()) {
      own = extentsOf(launch, arguments.sizes);
      within = own.data();
    }
    Status status = kernels->launchWithin(launch.kernel, args, within,
                                          launch.slotCount, stream, sized);
    if (!status.ok())
      return status;
  }
  return Status::success();
}

std::string Executable::counters() const { return kernels->counters(); }

std::string Executable::info() const {
  std::string text = "{\"device\":\"" + target.info().name +
                     "\",\"manifest\":" + manifestJson(header) +
                     ",\"kernels\":[";
  for (size_t i = 0; i < header.kernels.size(); ++i) {
    KernelAttributes attributes = kernels->attributes(i);
    const std::pair<const char *, std::optional<uint32_t>> members[] = {
        {"registers", attributes.registers},
        {"local_bytes", attributes.localBytes},
        {"static_shared_bytes", attributes.staticSharedBytes},
        {"blocks_per_sm", attributes.blocksPerMultiprocessor}};
    text += i == 0 ? "{" : ",{";
    for (const auto &[key, value] : members)
      text += (key == members[0].first ? "\"" : ",\"") + std::string(key) +
              "\":" + (value ? std::to_string(*value) : "null");
    text += '}';
  }
  return text + "]}";
}
