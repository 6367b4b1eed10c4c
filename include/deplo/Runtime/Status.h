// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the runtime reports failure. It has neither exceptions nor LLVM, so it
// carries its own two small types.

#ifndef DEPLO_RUNTIME_STATUS_H
#define DEPLO_RUNTIME_STATUS_H

#include <optional>
#include <string>
#include <utility>

namespace deplo::runtime {

/// Success, or one sentence that says what went wrong and what mends it.
class [[nodiscard]] Status {
public:
  static Status success() { return Status(); }
  static Status failure(std::string message) {
    Status status;
    status.text = std::move(message);
    return status;
  }

  bool ok() const { return !text; }
  /// Empty on success.
  std::string message() const { return text.value_or(std::string()); }

private:
  std::optional<std::string> text;
};

/// A value, or why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)), state(Status::success()) {}
  /// `status` must be a failure.
  Result(Status status) : state(std::move(status)) {}

  bool ok() const { return state.ok(); }
  const Status &status() const { return state; }
  std::string message() const { return state.message(); }

  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }

private:
  std::optional<T> value;
  Status state;
};

} // namespace deplo::runtime

#endif // DEPLO_RUNTIME_STATUS_H
