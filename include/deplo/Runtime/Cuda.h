// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_RUNTIME_CUDA_H
#define DEPLO_RUNTIME_CUDA_H

#include "deplo/Runtime/Device.h"

#include <string>

namespace deplo::runtime {

/// NVIDIA GPUs, through the driver's library, which is opened on first use.
/// The registry has this as "cuda"; tests pass a library of their own.
///
/// A device uses the primary context of its GPU, the one that the CUDA run
/// time and PyTorch use, and leaves the calling thread's current context as it
/// found it.
DeviceFactory cudaDeviceFactory(std::string library = "libcuda.so.1");

} // namespace deplo::runtime

#endif // DEPLO_RUNTIME_CUDA_H
