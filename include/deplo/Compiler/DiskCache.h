// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder of values by key that many processes read and write at once.

#ifndef DEPLO_COMPILER_DISKCACHE_H
#define DEPLO_COMPILER_DISKCACHE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace deplo {

/// Each value is one file, written under another name and renamed, so a reader
/// sees all of it or none. A file that isn't what was written, because it was
/// cut off or changed, counts as absent. Files that weren't used for long go
/// first where the folder grows beyond its bounds.
class DiskCache {
public:
  /// The folder of DEPLO_CACHE_DIR, else `deplo` in the user's folder for
  /// caches, bounded by DEPLO_CACHE_POLICY (in the syntax of
  /// llvm::parseCachePruningPolicy). None where DEPLO_CACHE is "off" or there
  /// is no such folder; an error for a policy that can't be read.
  static llvm::Expected<std::optional<DiskCache>> fromEnvironment();

  DiskCache(std::string directory, llvm::CachePruningPolicy policy)
      : directory(std::move(directory)), policy(policy) {}

  llvm::StringRef getDirectory() const { return directory; }

  /// The value of `key`, which is a file name.
  std::optional<std::string> load(llvm::StringRef key) const;

  /// Fails where the folder can't be written; `load` then goes on as before.
  llvm::Error store(llvm::StringRef key, llvm::StringRef value) const;

  struct Usage {
    uint64_t entries = 0, bytes = 0;
  };
  Usage getUsage() const;

  /// Removes every entry; fails where one can't be removed.
  llvm::Error clear() const;

private:
  std::string getPath(llvm::StringRef key) const;
  /// The files of this cache, complete ones or all.
  llvm::Error forEachFile(
      bool complete,
      llvm::function_ref<llvm::Error(llvm::StringRef path)> action) const;

  std::string directory;
  llvm::CachePruningPolicy policy;
};

} // namespace deplo

#endif // DEPLO_COMPILER_DISKCACHE_H
