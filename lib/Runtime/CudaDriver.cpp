// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CudaDriver.h"

#include <dlfcn.h>

using namespace deplo::runtime;
using namespace deplo::runtime::cuda;

Result<Driver> Driver::open(const std::string &library) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return Status::failure("there is no NVIDIA driver (" +
                           std::string(reason ? reason : library) +
                           "); install one or use device 'host'");
  }
  Driver driver;
  std::string missing;
  auto lookUp = [&](auto &function, const char *symbol) {
    using Function = std::remove_reference_t<decltype(function)>;
    function = reinterpret_cast<Function>(dlsym(handle, symbol));
    if (!function && missing.empty())
      missing = symbol;
  };
#define X(member, symbol, parameters) lookUp(driver.member, symbol);
  DEPLO_CUDA_DRIVER_FUNCTIONS(X)
#undef X
  if (!missing.empty())
    return Status::failure("the NVIDIA driver in '" + library + "' has no " +
                           missing +
                           "; install one for CUDA 11.4 or a later version");
  CUresult result = driver.init(0);
  if (result != success)
    return Status::failure("no NVIDIA GPU can be used: " +
                           driver.failure(result, "cuInit").message() +
                           "; check nvidia-smi and CUDA_VISIBLE_DEVICES, or "
                           "use device 'host'");
  int version = 0;
  result = driver.driverGetVersion(&version);
  if (result != success)
    return driver.failure(result, "cuDriverGetVersion");
  if (version >= firstVersionOfTensorMaps)
    lookUp(driver.tensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  if (version >= firstVersionOfProgrammaticLaunch)
    lookUp(driver.launchKernelEx, "cuLaunchKernelEx");
  return driver;
}

Status Driver::failure(CUresult result, const std::string &call) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != success || !name)
    name = "unknown";
  if (getErrorString(result, &text) != success || !text)
    text = "no explanation";
  return Status::failure(call + " failed: " + text + " (" + name + ", " +
                         std::to_string(result) + ")");
}
