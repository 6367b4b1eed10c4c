// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random pointwise and reduction programs give the same values before and after
// every tile pass.

#include "TileTesting.h"

using namespace deplo;
using namespace deplo::testing;
using namespace mlir;

namespace {

/// Writes a random loop.kernel: rows that are reduced, then swept with the
/// results of the reductions, maybe with running values, and maybe a reduction
/// or a scan over columns.
class Program {
public:
  explicit Program(unsigned seed) : random(seed) {}

  std::string write() {
    rows = pick<int>({1, 2, 3, 5, 8, 17});
    columns = pick<int>({1, 2, 4, 7, 32, 33, 64, 100, 130, 256});
    std::string body = chance(4)   ? writeColumnReduction()
                       : chance(6) ? writeColumnScan()
                                   : writeRows();
    std::string text = "loop.kernel @random(";
    for (size_t i = 0; i < arguments.size(); ++i)
      text += (i ? ", " : "") + arguments[i];
    return text + ") {\n" + body + "}\n";
  }

  int pickInt(int count) { return random() % count; }
  template <typename T> T pick(std::vector<T> choices) {
    return choices[pickInt(choices.size())];
  }
  bool chance(int oneIn) { return pickInt(oneIn) == 0; }

private:
  std::string name() { return "%v" + std::to_string(next++); }

  std::string addArgument(std::string shape, std::string element,
                          std::string &type) {
    std::string argument = "%m" + std::to_string(arguments.size());
    type = "memref<" + shape + "x" + element + ">";
    arguments.push_back(argument + ": " + type);
    return argument;
  }

  /// A new memref read at a place that depends on the row, the column or both,
  /// or one that was read before.
  std::string writeLoad(std::string &text, bool hasColumn) {
    struct Form {
      std::string shape, indices;
    };
    std::string r = std::to_string(rows), c = std::to_string(columns);
    std::vector<Form> forms = {{r, "%i"}};
    if (hasColumn) {
      forms.insert(forms.end(), {{r + "x" + c, "%i, %k"},
                                 {r + "x" + c, "%i, %k"},
                                 {c, "%k"},
                                 {c + "x" + r, "%k, %i"}});
      forms.push_back(
          {r + "x" + std::to_string(2 * columns + 1), "%i, %k * 2 + 1"});
      forms.push_back({"2x" + r + "x" + c, "1, %i, %k"});
    }
    Form form = pick(forms);
    std::string key = form.shape + form.indices;
    auto [it, isNew] = loaded.try_emplace(key);
    if (isNew || chance(3)) {
      it->second.element = pick<std::string>({"f32", "f32", "bf16", "f16"});
      it->second.memref =
          addArgument(form.shape, it->second.element, it->second.type);
    }
    std::string value = name();
    text += value + " = loop.load " + it->second.memref + "[" + form.indices +
            "] : " + it->second.type + "\n";
    if (it->second.element == "f32")
      return value;
    std::string wide = name();
    text += wide + " = arith.extf " + value + " : " + it->second.element +
            " to f32\n";
    return wide;
  }

  std::string emit(std::string &text, const std::string &operation) {
    std::string result = name();
    text += result + " = " + operation + "\n";
    return result;
  }

  /// Whether 0 <= %variable - shift < size.
  std::string writeGuard(std::string &text, const std::string &variable,
                         int shift, int size) {
    std::string number =
        emit(text, "arith.index_cast " + variable + " : index to i32");
    auto constant = [&](int value) {
      return emit(text, "arith.constant " + std::to_string(value) + " : i32");
    };
    std::string zero = constant(0);
    std::string low =
        emit(text, "arith.subi " + number + ", " + constant(shift) + " : i32");
    std::string high = emit(text, "arith.subi " + constant(shift + size - 1) +
                                      ", " + number + " : i32");
    std::string above =
        emit(text, "arith.cmpi sge, " + low + ", " + zero + " : i32");
    std::string below =
        emit(text, "arith.cmpi sge, " + high + ", " + zero + " : i32");
    return emit(text, "arith.andi " + above + ", " + below + " : i1");
  }

  /// A part of the rows or columns is read from a memref, the rest is another
  /// value; or a window, which is no box.
  std::string writeGather(std::string &text, bool hasColumn,
                          const std::string &otherwise) {
    int shift = pick<int>({0, 1, 4, 8}), type = pickInt(hasColumn ? 3 : 1);
    bool alongRows = type != 1;
    int size = 1 + (alongRows ? rows : columns) * 3 / 4;
    std::string variable = alongRows ? "%i" : "%k";
    std::string place = variable + " - " + std::to_string(shift);
    std::string shape = std::to_string(size), indices = place;
    std::string condition = writeGuard(text, variable, shift, size);
    if (type == 1) {
      shape = std::to_string(rows) + "x" + shape;
      indices = "%i, " + place;
    } else if (type == 2) {
      shape = std::to_string(2 * size + 2 * columns);
      indices = "(" + place + ") * 2 + %k";
    }
    std::string memrefType;
    std::string memref = addArgument(shape, "f32", memrefType);
    return emit(text, "loop.load " + memref + "[" + indices + "] if " +
                          condition + " else " + otherwise + " : " +
                          memrefType);
  }

  /// A value between about -10 and 10.
  std::string writeExpression(std::string &text, bool hasColumn,
                              const std::vector<std::string> &known,
                              int depth) {
    if (depth == 0 || chance(6)) {
      if (!known.empty() && chance(2))
        return pick(known);
      return writeLoad(text, hasColumn);
    }
    std::string x = writeExpression(text, hasColumn, known, depth - 1);
    if (chance(5))
      return writeGather(text, hasColumn, x);
    std::string result;
    if (chance(3)) {
      std::string op = pick<std::string>(
          {"math.tanh", "arith.negf", "math.absf", "math.sin"});
      result = name();
      text += result + " = " + op + " " + x + " : f32\n";
      return result;
    }
    std::string y = writeExpression(text, hasColumn, known, depth - 1);
    if (chance(4)) {
      std::string condition = name();
      text += condition + " = arith.cmpf olt, " + x + ", " + y + " : f32\n";
      result = name();
      text += result + " = arith.select " + condition + ", " + x + ", " + y +
              " : f32\n";
      return result;
    }
    std::string op = pick<std::string>(
        {"arith.addf", "arith.subf", "arith.maximumf", "arith.mulf"});
    result = name();
    text += result + " = " + op + " " + x + ", " + y + " : f32\n";
    // Keeps products of products small.
    std::string small = name();
    text += small + " = math.tanh " + result + " : f32\n";
    return small;
  }

  /// Reductions over %k, scaled to stay small.
  void writeReduction(std::string &text, std::vector<std::string> &known,
                      int extent) {
    int count = 1 + pickInt(2);
    std::string results, kinds, yielded, types;
    std::vector<std::string> raw;
    std::string body;
    std::vector<std::string> inner = known;
    for (int i = 0; i < count; ++i) {
      raw.push_back(name());
      std::string comma = i ? ", " : "";
      results += comma + raw.back();
      kinds += comma + pick<std::string>({"add", "add", "max", "min"});
      yielded += comma + writeExpression(body, true, inner, 2);
      types += comma + "f32";
    }
    text += results + " = loop.reduce [" + kinds + "] %k = 0 to " +
            std::to_string(extent) + " : " + types + " {\n" + body +
            "loop.yield " + yielded + " : " + types + "\n}\n";
    for (const std::string &value : raw) {
      std::string scale = name(), result = name();
      text += scale + " = arith.constant " + std::to_string(1.0 / extent) +
              " : f32\n";
      text += result + " = arith.mulf " + value + ", " + scale + " : f32\n";
      known.push_back(result);
    }
  }

  /// A running value of an expression that stays small, added to those known.
  void writeRunning(std::string &text, std::vector<std::string> &known) {
    std::string value = writeExpression(text, true, known, 2);
    std::string kind = pick<std::string>({"add", "max", "min", "logaddexp"});
    std::string running =
        emit(text, "loop.running " + kind + " " + value + " : f32");
    std::string scale = emit(
        text, "arith.constant " + std::to_string(1.0 / columns) + " : f32");
    known.push_back(
        emit(text, "arith.mulf " + running + ", " + scale + " : f32"));
  }

  void writeStore(std::string &text, std::string value, std::string shape,
                  std::string indices) {
    std::string element = pick<std::string>({"f32", "f32", "bf16", "f16"}),
                type;
    std::string memref = addArgument(shape, element, type);
    if (element != "f32") {
      std::string narrow = name();
      text +=
          narrow + " = arith.truncf " + value + " : f32 to " + element + "\n";
      value = narrow;
    }
    text += "loop.store " + value + ", " + memref + "[" + indices +
            "] : " + type + "\n";
  }

  std::string writeRows() {
    std::string text = "loop.for %i = 0 to " + std::to_string(rows) + " {\n";
    std::vector<std::string> known;
    for (int i = pickInt(3); i > 0; --i)
      writeReduction(text, known, columns);
    std::string r = std::to_string(rows), c = std::to_string(columns);
    bool sweeps = known.empty() || !chance(3);
    if (sweeps) {
      bool scans = chance(3);
      text +=
          (scans ? "loop.scan %k = 0 to " : "loop.for %k = 0 to ") + c + " {\n";
      std::vector<std::string> outside = known;
      for (int i = scans ? 1 + pickInt(2) : 0; i > 0; --i)
        writeRunning(text, known);
      std::string value = writeExpression(text, true, known, 3);
      writeStore(text, value, r + "x" + c, "%i, %k");
      if (chance(4))
        writeStore(text, writeExpression(text, true, known, 2), c + "x" + r,
                   "%k, %i");
      text += "}\n";
      known = outside;
    }
    if (!known.empty() && (!sweeps || chance(2)))
      writeStore(text, pick(known), r, "%i");
    return text + "}\n";
  }

  /// The rows are reduced: memory is contiguous along the parallel loop.
  std::string writeColumnReduction() {
    std::swap(rows, columns);
    std::string text = "loop.for %i = 0 to " + std::to_string(rows) + " {\n";
    std::vector<std::string> known;
    writeReduction(text, known, columns);
    writeStore(text, pick(known), std::to_string(rows), "%i");
    return text + "}\n";
  }

  /// Memory is contiguous along the parallel loop.
  std::string writeColumnScan() {
    std::swap(rows, columns);
    std::string r = std::to_string(rows), c = std::to_string(columns);
    std::string text =
        "loop.for %i = 0 to " + r + " {\nloop.scan %k = 0 to " + c + " {\n";
    std::vector<std::string> known;
    writeRunning(text, known);
    writeStore(text, known.front(), c + "x" + r, "%k, %i");
    return text + "}\n}\n";
  }

  std::mt19937 random;
  int rows = 1, columns = 1, next = 0;
  std::vector<std::string> arguments;
  struct Loaded {
    std::string memref, type, element;
  };
  std::map<std::string, Loaded> loaded;
};

class RandomPrograms : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomPrograms, KeepValues) {
  unsigned seed = GetParam();
  Program program(seed);
  std::string text = program.write();
  SCOPED_TRACE(text);
  Session session;
  OwningOpRef<ModuleOp> module = session.parse(text);
  ASSERT_TRUE(module);
  std::vector<HostArray> values =
      interpretOnRandom(session, getKernel(*module), seed);

  std::string pin =
      "vector=" + program.pick<std::string>({"1", "2", "4"}) +
      ",warps=" + program.pick<std::string>({"1", "2", "4"}) +
      ",chunk=" + program.pick<std::string>({"0", "32", "64"}) +
      ",unroll=" + program.pick<std::string>({"1", "4"}) + ",stage_inputs=" +
      program.pick<std::string>({"auto", "always", "never"}) +
      ",async_copy=" + program.pick<std::string>({"auto", "never"}) +
      ",pad_smem=" + program.pick<std::string>({"auto", "always"});
  std::string alignment = program.pick<std::string>({"4", "8", "16"});
  std::string aligned = "{alignment=" + alignment + "}";
  std::string steps[] = {
      "deplo-attach-target{chip=sm_90a}",
      program.chance(3) ? "deplo-select-schedule" + aligned
                        : "deplo-select-schedule{pin=" + pin +
                              " alignment=" + alignment + "}",
      "deplo-tileify",
      "tile.kernel(deplo-cooperative-reduce)",
      "tile.kernel(canonicalize,cse)",
      "tile.kernel(deplo-blockify-launch)",
      "tile.kernel(deplo-chunk-reduce)",
      "tile.kernel(canonicalize,cse)",
      "tile.kernel(deplo-stage-inputs)",
      "tile.kernel(deplo-register-tile" + aligned + ")",
      "tile.kernel(deplo-async-copy" + aligned + ")",
      "tile.kernel(deplo-pad-smem" + aligned + ")",
      "tile.kernel(deplo-hoist-loads{always=true})",
      "tile.kernel(deplo-prefetch-chunks)",
      "tile.kernel(deplo-mark-unroll)",
      "tile.kernel(deplo-batch-loads)",
      "tile.kernel(deplo-vectorize-access" + aligned + ")",
  };
  for (const std::string &step : steps) {
    SCOPED_TRACE(step);
    ASSERT_TRUE(succeeded(runPipeline(*module, step))) << session.errors;
    std::vector<HostArray> after =
        interpretOnRandom(session, getKernel(*module), seed);
    ASSERT_FALSE(HasFailure());
    // Sums in chunks are sums in another order.
    expectSame(values, after,
               step == "tile.kernel(deplo-chunk-reduce)" ? 1e-5 : 0);
    ASSERT_FALSE(HasFailure());
    values = std::move(after);
  }
  auto kernel = cast<tile::KernelOp>(getKernel(*module));
  EXPECT_TRUE(succeeded(tile::verifyScheduled(kernel))) << session.errors;
  expectVectors(kernel);
}

/// DEPLO_RANDOM_PROGRAMS in the environment asks for more than the usual
/// number.
unsigned getNumPrograms() {
  const char *text = std::getenv("DEPLO_RANDOM_PROGRAMS");
  unsigned number;
  return text && !StringRef(text).getAsInteger(10, number) ? number : 200;
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms,
                         ::testing::Range(0u, getNumPrograms()));

} // namespace
