// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the definition of an instruction by its opcode and modifiers.

#include "Definition.h"

using namespace deplo::emulator;

bool Form::has(std::string_view modifier) const {
  for (std::string_view present : modifiers)
    if (present == modifier)
      return true;
  return false;
}

int Form::which(std::initializer_list<std::string_view> names) const {
  int index = 0;
  for (std::string_view name : names) {
    if (has(name))
      return index;
    ++index;
  }
  return -1;
}

namespace {

/// The first piece of `text` up to `separator`, which is taken off.
std::string_view takePiece(std::string_view &text, char separator) {
  size_t end = text.find(separator);
  std::string_view piece = text.substr(0, end);
  text =
      end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return piece;
}

bool matches(std::string_view pattern, std::string_view modifier) {
  if (!pattern.empty() && pattern.back() == '*') {
    pattern.remove_suffix(1);
    return modifier.substr(0, pattern.size()) == pattern;
  }
  return pattern == modifier;
}

/// How far a definition's modifiers matched, and what was wanted there.
struct Mismatch {
  size_t position = 0;
  std::string expected;
};

bool matchModifiers(std::string_view spec, const Instruction &ast, Form &form,
                    Mismatch &mismatch) {
  form.modifiers.clear();
  form.types.clear();
  size_t position = 0;
  std::string expected;
  auto fail = [&] {
    mismatch = {position, expected};
    return false;
  };
  while (!spec.empty()) {
    std::string_view word = takePiece(spec, ' ');
    if (word.empty())
      continue;
    bool isOptional = word.back() == '?';
    if (isOptional)
      word.remove_suffix(1);
    bool isFound = false;
    for (std::string_view rest = word; !rest.empty() && !isFound;) {
      std::string_view pattern = takePiece(rest, '|');
      if (position < ast.modifiers.size() &&
          matches(pattern, ast.modifiers[position]))
        isFound = true;
    }
    if (!isFound) {
      std::string_view rest = word;
      while (!rest.empty())
        expected += (expected.empty() ? "'." : ", '.") +
                    std::string(takePiece(rest, '|')) + "'";
      if (isOptional)
        continue;
      return fail();
    }
    expected.clear();
    std::string_view modifier = ast.modifiers[position++];
    form.modifiers.push_back(modifier);
    if (std::optional<Type> type = parseType(modifier))
      form.types.push_back(*type);
  }
  if (position == ast.modifiers.size())
    return true;
  if (expected.empty())
    expected = "no more modifiers";
  return fail();
}

using DefinitionMap =
    std::map<std::string_view, std::vector<const Definition *>>;

const DefinitionMap &definitions() {
  static const DefinitionMap map = [] {
    DefinitionMap result;
    for (DefinitionList list :
         {integerDefinitions(),  bitDefinitions(),        floatDefinitions(),
          halfDefinitions(),     compareDefinitions(),    convertDefinitions(),
          moveDefinitions(),     memoryDefinitions(),     atomicDefinitions(),
          controlDefinitions(),  warpDefinitions(),       barrierDefinitions(),
          fenceDefinitions(),    asyncCopyDefinitions(),  mbarrierDefinitions(),
          bulkCopyDefinitions(), tensorCopyDefinitions(), clusterDefinitions(),
          matrixDefinitions(),   wgmmaDefinitions()})
      for (const Definition &definition : list)
        result[definition.opcode].push_back(&definition);
    return result;
  }();
  return map;
}

} // namespace

const Definition *deplo::emulator::findDefinition(const Instruction &ast,
                                                  Form &form,
                                                  std::string &error) {
  auto found = definitions().find(ast.opcode);
  if (found == definitions().end()) {
    error = "there is no instruction '" + std::string(ast.opcode) +
            "' in the emulator";
    return nullptr;
  }
  Mismatch best;
  for (const Definition *definition : found->second) {
    Mismatch mismatch;
    if (matchModifiers(definition->modifiers, ast, form, mismatch))
      return definition;
    if (best.expected.empty() || mismatch.position > best.position)
      best = mismatch;
    else if (mismatch.position == best.position && best.expected.size() < 300 &&
             best.expected.find(mismatch.expected) == std::string::npos)
      best.expected += ", " + mismatch.expected;
  }
  std::string after = std::string(ast.opcode);
  for (size_t i = 0; i < best.position; ++i)
    after += "." + std::string(ast.modifiers[i]);
  error = "expected " + best.expected + " after '" + after + "'";
  if (best.position < ast.modifiers.size())
    error += ", found '." + std::string(ast.modifiers[best.position]) + "'";
  return nullptr;
}
