// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's device "host": kernels are object files, linked into the
// process by LLVM's ORC.

#ifndef DEPLO_EXECUTION_HOSTDEVICE_H
#define DEPLO_EXECUTION_HOSTDEVICE_H

namespace deplo {

/// Makes "host" known to the runtime. Calls after the first do nothing.
void registerHostDevice();

} // namespace deplo

#endif // DEPLO_EXECUTION_HOSTDEVICE_H
