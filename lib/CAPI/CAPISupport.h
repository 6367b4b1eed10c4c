// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_LIB_CAPI_CAPISUPPORT_H
#define DEPLO_LIB_CAPI_CAPISUPPORT_H

#include <nlohmann/json.hpp>

#include <string>

/// Sets what deploLastError() says, and gives 1.
int failCall(std::string message);

/// JSON text; bytes that are no UTF-8 are replaced.
inline std::string toText(const nlohmann::ordered_json &json) {
  return json.dump(-1, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

#endif // DEPLO_LIB_CAPI_CAPISUPPORT_H
