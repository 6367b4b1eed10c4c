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

Executable::Executable(Device &device, Manifest manifest,
                       std::unique_ptr<LoadedKernels> loadedKernels)
    : target(device), header(std::move(manifest)),
      kernels(std::move(loadedKernels)) {
  for (const auto *tensors : {&header.inputs, &header.outputs})
    for (const TensorInfo &tensor : *tensors)
      bufferChecks.push_back(
          {uintptr_t(tensor.alignment) - 1, tensorBytes(tensor) == 0});

  const size_t firstSlotOf[] = {0, header.inputs.size(), bufferCount()};
  std::vector<bool> isWritten(bufferCount() + header.temps.size(), false);
  for (const LaunchInfo &launch : header.launches) {
    launches.push_back({launch.kernel, slots.size(), launch.args.size()});
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
}

Executable::~Executable() {
  if (arenas)
    arenas->close();
}

/// Outputs and temporaries have no values before a launch had them.
ArgumentExtent Executable::extentOf(const LaunchArgument &arg,
                                    bool isWritten) const {
  ArgumentExtent extent;
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

const TensorInfo &Executable::buffer(size_t index) const {
  return index < header.inputs.size()
             ? header.inputs[index]
             : header.outputs[index - header.inputs.size()];
}

Status Executable::run(void *const *buffers, size_t count, Stream stream) {
  Status status = checkBuffers(buffers, count);
  if (!status.ok())
    return status;
  if (!arenas)
    return launchAll(buffers, nullptr, stream);
  Result<Arena *> arena = arenas->arenaFor(stream);
  if (!arena.ok())
    return arena.status();
  std::lock_guard<std::mutex> lock((*arena)->enqueuing);
  return launchAll(buffers, (*arena)->temps.data(), stream);
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
  if (count != bufferCount())
    return Status::failure(
        "'" + header.name + "' takes " + std::to_string(header.inputs.size()) +
        " inputs and " + std::to_string(header.outputs.size()) +
        " outputs, got " + std::to_string(count) + " buffers");
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

Status Executable::launchAll(void *const *buffers, void *const *temps,
                             Stream stream) {
  void *args[maxKernelArguments];
  const size_t firstTemp = bufferCount();
  for (const Launch &launch : launches) {
    const uint32_t *slot = slots.data() + launch.firstSlot;
    for (size_t i = 0; i < launch.slotCount; ++i)
      args[i] =
          slot[i] < firstTemp ? buffers[slot[i]] : temps[slot[i] - firstTemp];
    Status status = kernels->launchWithin(launch.kernel, args,
                                          extents.data() + launch.firstSlot,
                                          launch.slotCount, stream);
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
