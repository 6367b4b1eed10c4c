// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Execution/HostDevice.h"

#include "deplo/Execution/HostCompiler.h"
#include "deplo/Runtime/Device.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>
#include <thread>

#include <unistd.h>

using namespace deplo;
using namespace deplo::runtime;

namespace {

using Kernel = void (*)(void *const *args);

class HostKernels : public LoadedKernels {
public:
  HostKernels(std::unique_ptr<llvm::orc::LLJIT> jit,
              std::vector<Kernel> kernels)
      : jit(std::move(jit)), kernels(std::move(kernels)) {}

  // UBSan reads the type of a function in front of its code; this has none.
  LLVM_NO_SANITIZE("function")
  Status launch(size_t kernel, void *const *args, size_t, Stream,
                const SizedLaunch &) override {
    kernels[kernel](args);
    return Status::success();
  }

private:
  /// Owns the code.
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<Kernel> kernels;
};

class HostDevice : public Device {
public:
  HostDevice() {
    deviceInfo.name = "host";
    deviceInfo.description = llvm::sys::getHostCPUName().str();
    deviceInfo.target = getHostTarget();
    deviceInfo.multiprocessors = std::thread::hardware_concurrency();
    deviceInfo.memoryBytes =
        uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  }

  const DeviceInfo &info() const override { return deviceInfo; }

  Result<std::unique_ptr<LoadedKernels>> load(const Package &package) override;

private:
  DeviceInfo deviceInfo;
};

} // namespace

static Status toStatus(llvm::Error error) {
  return Status::failure("can't load the package on device 'host': " +
                         llvm::toString(std::move(error)));
}

/// A linker with nothing in it but the C library's functions.
static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> createJit() {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  // Kernels have no static constructors or thread-local variables.
  auto jit = llvm::orc::LLJITBuilder()
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (!jit)
    return jit.takeError();
  char prefix = (*jit)->getDataLayout().getGlobalPrefix();
  // The mathematical library first by its name: a process that has it may hide
  // it from its other libraries.
  auto math =
      llvm::orc::DynamicLibrarySearchGenerator::Load("libm.so.6", prefix);
  if (math)
    (*jit)->getMainJITDylib().addGenerator(std::move(*math));
  else
    llvm::consumeError(math.takeError());
  auto process =
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(prefix);
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  return std::move(*jit);
}

Result<std::unique_ptr<LoadedKernels>>
HostDevice::load(const Package &package) {
  const Manifest &manifest = package.manifest;
  if (manifest.target != deviceInfo.target)
    return Status::failure("the package is compiled for the processor '" +
                           manifest.target + "' and this is '" +
                           deviceInfo.target + "'; compile it here");
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> jit = createJit();
  if (!jit)
    return toStatus(jit.takeError());

  std::vector<bool> isAdded(package.blobs.size());
  for (const KernelInfo &kernel : manifest.kernels) {
    if (isAdded[*kernel.object])
      continue;
    isAdded[*kernel.object] = true;
    std::string_view object = package.blobs[*kernel.object];
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
        llvm::StringRef(object.data(), object.size()), manifest.name);
    if (llvm::Error error = (*jit)->addObjectFile(std::move(buffer)))
      return toStatus(std::move(error));
  }

  std::vector<Kernel> kernels;
  for (const KernelInfo &kernel : manifest.kernels) {
    auto address = (*jit)->lookup(getHostSymbol(kernel.name));
    if (!address)
      return toStatus(address.takeError());
    kernels.push_back(address->toPtr<Kernel>());
  }
  return std::unique_ptr<LoadedKernels>(
      new HostKernels(std::move(*jit), std::move(kernels)));
}

void deplo::registerHostDevice() {
  static std::once_flag registered;
  std::call_once(registered, [] {
    DeviceFactory factory;
    factory.count = [] { return Result<int>(1); };
    factory.open = [](int) {
      return Result<std::unique_ptr<Device>>(std::make_unique<HostDevice>());
    };
    Status status = registerDevice("host", std::move(factory));
    (void)
        status; // fails only if the name is taken, by a device of the caller's
  });
}
