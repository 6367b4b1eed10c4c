// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_LIB_CAPI_CAPISUPPORT_H
#define DEPLO_LIB_CAPI_CAPISUPPORT_H

#include <string>

/// Sets what deploLastError() says, and gives 1.
int failCall(std::string message);

#endif // DEPLO_LIB_CAPI_CAPISUPPORT_H
