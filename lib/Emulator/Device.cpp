// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Emulator/Device.h"

#include "deplo/Emulator/TensorMap.h"
#include "deplo/Runtime/Device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include <unistd.h>

using namespace deplo;
using namespace deplo::emulator;
using namespace deplo::runtime;

//===----------------------------------------------------------------------===//
// Machines
//===----------------------------------------------------------------------===//

namespace {

struct KnownMachine {
  /// Compute capability, as 90 of sm_90a.
  unsigned capability;
  uint32_t multiprocessors, sharedBytesPerBlock, sharedBytes, clusterBlocks;
};

constexpr KnownMachine knownMachines[] = {
    {75, 40, 64 << 10, 64 << 10, 1},     {80, 108, 163 << 10, 164 << 10, 1},
    {86, 84, 99 << 10, 100 << 10, 1},    {89, 128, 99 << 10, 100 << 10, 1},
    {90, 132, 227 << 10, 228 << 10, 16}, {100, 148, 227 << 10, 228 << 10, 16},
    {120, 170, 99 << 10, 100 << 10, 8}};

} // namespace

Machine deplo::emulator::machineFor(std::string_view target) {
  unsigned capability = 0;
  for (char c : target)
    if (c >= '0' && c <= '9')
      capability = capability * 10 + unsigned(c - '0');
  const KnownMachine *best = &knownMachines[0];
  for (const KnownMachine &known : knownMachines)
    if (known.capability <= capability)
      best = &known;
  Machine machine;
  machine.target = std::string(target);
  machine.multiprocessors = best->multiprocessors;
  machine.maxSharedBytesPerBlock = best->sharedBytesPerBlock;
  machine.sharedBytesPerMultiprocessor = best->sharedBytes;
  machine.maxClusterBlocks = best->clusterBlocks;
  return machine;
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

namespace {

struct EmulatedKernel {
  KernelInfo info;
  std::shared_ptr<Program> program;
  KernelSummary summary;
};

class EmulatedKernels : public LoadedKernels {
public:
  EmulatedKernels(std::vector<EmulatedKernel> kernels, Machine machine)
      : kernels(std::move(kernels)), machine(std::move(machine)) {
    lastCounters.resize(this->kernels.size(), "null");
    // Both cost time; the tests of a large program may do without.
    if (const char *checks = std::getenv("DEPLO_EMU_CHECKS"))
      hasChecks = std::string_view(checks) != "off";
  }

  Status launch(size_t number, void *const *args, size_t count, Stream,
                const SizedLaunch &) override {
    return Status::failure("device 'emu' needs to know what memory kernel '" +
                           kernels[number].info.name +
                           "' is given; run it through an executable");
  }

  Status launchWithin(size_t number, void *const *args,
                      const ArgumentExtent *extents, size_t count, Stream,
                      const SizedLaunch &sized) override;
  bool looksAtExtents() const override { return true; }

  KernelAttributes attributes(size_t number) const override {
    KernelAttributes result;
    result.localBytes = kernels[number].summary.localBytes;
    result.staticSharedBytes = kernels[number].summary.staticSharedBytes;
    return result;
  }

  std::string counters() const override {
    std::lock_guard<std::mutex> lock(mutex);
    std::string text;
    for (size_t i = 0; i < kernels.size(); ++i)
      text += (i ? "," : "[") + lastCounters[i];
    return text.empty() ? "[]" : text + "]";
  }

private:
  std::vector<EmulatedKernel> kernels;
  Machine machine;
  bool hasChecks = true;
  /// A program has one launch at a time.
  mutable std::mutex mutex;
  std::vector<std::string> lastCounters;
};

class EmulatedDevice : public Device {
public:
  EmulatedDevice() {
    deviceInfo.name = "emu";
    deviceInfo.description = "PTX emulator";
    Machine machine;
    deviceInfo.multiprocessors = machine.multiprocessors;
    deviceInfo.sharedBytesPerBlock = machine.maxSharedBytesPerBlock;
    deviceInfo.memoryBytes =
        uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  }

  const DeviceInfo &info() const override { return deviceInfo; }

  bool runsPackagesFor(std::string_view kind) const override {
    return kind == "cuda";
  }

  Result<std::unique_ptr<LoadedKernels>> load(const Package &package) override;

private:
  DeviceInfo deviceInfo;
};

} // namespace

/// Makes the tensor map that is `parameter` of the kernel.
static Status encodeMap(const TensorMapInfo &info, void *const *args,
                        const ParameterInfo &parameter, Launch &launch) {
  if (parameter.bytes != tensorMapBytes)
    return Status::failure("kernel '" + launch.kernel + "' has no parameter " +
                           "of the size of a tensor map for argument " +
                           std::to_string(info.argument));
  TensorMap map;
  map.element = info.elementBytes == 1   ? TensorElement::U8
                : info.elementBytes == 2 ? TensorElement::U16
                : info.elementBytes == 4 ? TensorElement::U32
                                         : TensorElement::U64;
  map.rank = uint8_t(info.extents.size());
  map.swizzle = info.swizzle == 128  ? TensorSwizzle::Bytes128
                : info.swizzle == 64 ? TensorSwizzle::Bytes64
                : info.swizzle == 32 ? TensorSwizzle::Bytes32
                                     : TensorSwizzle::None;
  map.address = reinterpret_cast<uintptr_t>(args[info.argument]) + info.offset;
  std::copy(info.extents.begin(), info.extents.end(), map.extents.begin());
  std::copy(info.strides.begin(), info.strides.end(), map.strides.begin());
  std::copy(info.box.begin(), info.box.end(), map.box.begin());
  uint8_t bytes[tensorMapBytes];
  Status status = encodeTensorMap(map, bytes);
  if (status.ok())
    std::memcpy(launch.parameters.data() + parameter.offset, bytes,
                sizeof(bytes));
  return status;
}

Status EmulatedKernels::launchWithin(size_t number, void *const *args,
                                     const ArgumentExtent *extents,
                                     size_t count, Stream,
                                     const SizedLaunch &sized) {
  const EmulatedKernel &kernel = kernels[number];
  Launch launch;
  launch.kernel = kernel.info.name;
  launch.grid = kernel.info.grid;
  if (sized.blocks != 0)
    launch.grid[0] = sized.blocks;
  launch.block = kernel.info.block;
  launch.dynamicSharedBytes = kernel.info.sharedBytes;
  launch.machine = machine;
  launch.checks.races = launch.checks.uninitialized = hasChecks;
  launch.parameters.assign(kernel.summary.parameterBytes, 0);
  if (count + kernel.info.maps.size() != kernel.summary.parameters.size())
    return Status::failure("kernel '" + launch.kernel + "' takes " +
                           std::to_string(kernel.summary.parameters.size()) +
                           " arguments, got " +
                           std::to_string(count + kernel.info.maps.size()));
  const std::vector<TensorMapInfo> &maps =
      sized.maps ? *sized.maps : kernel.info.maps;
  for (size_t i = 0; i < maps.size(); ++i) {
    Status status =
        encodeMap(maps[i], args, kernel.summary.parameters[i], launch);
    if (!status.ok())
      return status;
  }
  for (size_t i = 0; i < count; ++i) {
    const ParameterInfo &parameter =
        kernel.summary.parameters[kernel.info.maps.size() + i];
    if (parameter.bytes != sizeof(void *))
      return Status::failure("parameter " + std::to_string(i) + " of kernel '" +
                             launch.kernel + "' is not a pointer");
    std::memcpy(launch.parameters.data() + parameter.offset, &args[i],
                sizeof(void *));
    if (!extents[i].isMemory)
      continue;
    launch.regions.push_back({std::string(extents[i].name), args[i],
                              extents[i].bytes, extents[i].isWritable,
                              extents[i].isInitialized});
  }
  std::lock_guard<std::mutex> lock(mutex);
  Outcome outcome = kernel.program->run(launch);
  lastCounters[number] = countersJson(outcome.counters);
  if (outcome.ok())
    return Status::success();
  std::string message = "kernel '" + launch.kernel + "' is wrong: line " +
                        outcome.diagnostics[0].text();
  if (outcome.diagnostics.size() > 1)
    message += " (and " + std::to_string(outcome.diagnostics.size() - 1) +
               " more findings)";
  return Status::failure(message);
}

Result<std::unique_ptr<LoadedKernels>>
EmulatedDevice::load(const Package &package) {
  std::vector<EmulatedKernel> kernels;
  std::vector<std::shared_ptr<Program>> programs(package.blobs.size());
  for (const KernelInfo &info : package.manifest.kernels) {
    if (!info.ptx)
      return Status::failure("the package has no PTX for kernel '" + info.name +
                             "', which device 'emu' needs");
    std::shared_ptr<Program> &program = programs[*info.ptx];
    if (!program) {
      Result<std::shared_ptr<Program>> loaded =
          Program::load(package.blobs[*info.ptx]);
      if (!loaded.ok())
        return Status::failure("device 'emu' can't load the package's PTX: "
                               "line " +
                               loaded.message());
      program = *loaded;
    }
    EmulatedKernel kernel;
    kernel.info = info;
    kernel.program = program;
    bool isFound = false;
    for (KernelSummary &summary : program->kernels())
      if (summary.name == info.name) {
        kernel.summary = std::move(summary);
        isFound = true;
      }
    if (!isFound)
      return Status::failure("the package's PTX has no kernel '" + info.name +
                             "'");
    kernels.push_back(std::move(kernel));
  }
  return std::unique_ptr<LoadedKernels>(new EmulatedKernels(
      std::move(kernels), machineFor(package.manifest.target)));
}

void deplo::registerEmulatedDevice() {
  static std::once_flag registered;
  std::call_once(registered, [] {
    DeviceFactory factory;
    factory.count = [] { return Result<int>(1); };
    factory.open = [](int) {
      return Result<std::unique_ptr<Device>>(
          std::make_unique<EmulatedDevice>());
    };
    Status status = registerDevice("emu", std::move(factory));
    (void)status; // Fails only if the name is taken by the caller's own.
  });
}
