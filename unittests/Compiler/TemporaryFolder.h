// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_UNITTESTS_COMPILER_TEMPORARYFOLDER_H
#define DEPLO_UNITTESTS_COMPILER_TEMPORARYFOLDER_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <string>

namespace deplo {

/// A new folder, removed with all in it at the end.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::error_code error =
        llvm::sys::fs::createUniqueDirectory("deplo-test", root);
    if (error)
      llvm::report_fatal_error("no temporary folder");
  }
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(root); }

  std::string path(llvm::StringRef name) const {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }

private:
  llvm::SmallString<128> root;
};

} // namespace deplo

#endif // DEPLO_UNITTESTS_COMPILER_TEMPORARYFOLDER_H
