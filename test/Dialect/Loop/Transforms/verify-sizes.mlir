// RUN: deplo-opt %s --split-input-file --verify-diagnostics --deplo-verify-sizes | FileCheck %s

// Rows of a number that is known when the program runs, in the outermost loop.
// CHECK-LABEL: loop.kernel @rows
module attributes {graph.sizes = {rows = array<i64: 1048583, 1, 5000>}} {
  loop.kernel @rows(%x: memref<1048583x8xf32>, %y: memref<1048583xf32>) {
    loop.for %i = 0 to 1048583 {
      %s = loop.reduce add %k = 0 to 8 : f32 {
        %a = loop.load %x[%i, %k] : memref<1048583x8xf32>
        loop.yield %a : f32
      }
      loop.store %s, %y[%i] : memref<1048583xf32>
    }
  }
}

// -----

// A multiple of the size is one, too; the first row is there for at least one.
// CHECK-LABEL: loop.kernel @first_row
module attributes {graph.sizes = {rows = array<i64: 1048583, 1, 5000>}} {
  loop.kernel @first_row(%x: memref<1048583x8xf32>, %y: memref<8388664xf32>) {
    loop.for %i = 0 to 8388664 {
      %a = loop.load %x[0, 3] : memref<1048583x8xf32>
      loop.store %a, %y[%i] : memref<8388664xf32>
    }
  }
}

// -----

// Reductions and inner loops go over such a size.
// CHECK-LABEL: loop.kernel @sum
module attributes {graph.sizes = {rows = array<i64: 1048583, 1, 5000>}} {
  loop.kernel @sum(%x: memref<1048583x8xf32>, %y: memref<8xf32>) {
    loop.for %j = 0 to 8 {
      %s = loop.reduce add %i = 0 to 1048583 : f32 {
        %a = loop.load %x[%i, %j] : memref<1048583x8xf32>
        loop.yield %a : f32
      }
      loop.store %s, %y[%j] : memref<8xf32>
    }
  }
}

// -----

// So do scans.
// CHECK-LABEL: loop.kernel @running_sums
module attributes {graph.sizes = {n = array<i64: 1048583, 1, 5000>}} {
  loop.kernel @running_sums(%x: memref<1048583xf32>, %y: memref<1048583xf32>) {
    loop.scan %k = 0 to 1048583 {
      %a = loop.load %x[%k] : memref<1048583xf32>
      %s = loop.running add %a : f32
      loop.store %s, %y[%k] : memref<1048583xf32>
    }
  }
}

// -----

// CHECK-LABEL: loop.kernel @inner
module attributes {graph.sizes = {rows = array<i64: 1048583, 1, 5000>}} {
  loop.kernel @inner(%x: memref<8xf32>, %z: memref<8xf32>, %y: memref<8x1048583xf32>) {
    loop.for %j = 0 to 8 {
      %a = loop.load %x[%j] : memref<8xf32>
      loop.store %a, %z[%j] : memref<8xf32>
      loop.for %i = 0 to 1048583 {
        loop.store %a, %y[%j, %i] : memref<8x1048583xf32>
      }
    }
  }
}

// -----

// There may be no row at all.
module attributes {graph.sizes = {rows = array<i64: 1048583, 0, 5000>}} {
  loop.kernel @no_row(%x: memref<1048583x8xf32>, %y: memref<1048583xf32>) {
    loop.for %i = 0 to 1048583 {
      // expected-error @+1 {{reaches only a part of rows elements}}
      %a = loop.load %x[0, 0] : memref<1048583x8xf32>
      loop.store %a, %y[%i] : memref<1048583xf32>
    }
  }
}

// -----

module attributes {graph.sizes = {rows = array<i64: 1048583, 1, 5000>}} {
  loop.kernel @some_rows(%x: memref<1048583xf32>, %y: memref<8xf32>) {
    loop.for %i = 0 to 8 {
      // expected-error @+1 {{reaches only a part of rows elements}}
      %a = loop.load %x[%i] : memref<1048583xf32>
      loop.store %a, %y[%i] : memref<8xf32>
    }
  }
}

// -----

module attributes {graph.sizes = {rows = array<i64: 1048583, 1, 5000>}} {
  loop.kernel @last_of(%x: memref<2097153xf32>, %y: memref<8xf32>) {
    loop.for %i = 0 to 8 {
      // expected-error @+1 {{has a coordinate that depends on a size that is known when the program runs}}
      %a = loop.load %x[%i + 1048583] : memref<2097153xf32>
      loop.store %a, %y[%i] : memref<8xf32>
    }
  }
}

// -----

// There may be nothing to reduce.
module attributes {graph.sizes = {n = array<i64: 1048583, 0, 5000>}} {
  loop.kernel @empty_rows(%x: memref<8x1048583xf32>, %y: memref<8xf32>) {
    loop.for %j = 0 to 8 {
      // expected-error @+1 {{goes over n elements for each result, which may be none when the program runs; declare a minimum of 1}}
      %s = loop.reduce add %i = 0 to 1048583 : f32 {
        %a = loop.load %x[%j, %i] : memref<8x1048583xf32>
        loop.yield %a : f32
      }
      loop.store %s, %y[%j] : memref<8xf32>
    }
  }
}

// -----

module attributes {graph.sizes = {n = array<i64: 1048583, 0, 5000>}} {
  loop.kernel @empty_sweep(%x: memref<8xf32>, %z: memref<8xf32>, %y: memref<8x1048583xf32>) {
    loop.for %j = 0 to 8 {
      %a = loop.load %x[%j] : memref<8xf32>
      loop.store %a, %z[%j] : memref<8xf32>
      // expected-error @+1 {{goes over n elements for each result, which may be none when the program runs; declare a minimum of 1}}
      loop.for %i = 0 to 1048583 {
        loop.store %a, %y[%j, %i] : memref<8x1048583xf32>
      }
    }
  }
}

// -----

module attributes {graph.sizes = {n = array<i64: 1048583, 0, 5000>}} {
  loop.kernel @empty_scan(%x: memref<1048583xf32>, %y: memref<1048583xf32>) {
    // expected-error @+1 {{goes over n elements for each result, which may be none when the program runs; declare a minimum of 1}}
    loop.scan %k = 0 to 1048583 {
      %a = loop.load %x[%k] : memref<1048583xf32>
      %s = loop.running add %a : f32
      loop.store %s, %y[%k] : memref<1048583xf32>
    }
  }
}

// -----

// In reverse a dimension is gone through as well, also in blocks.
// CHECK-LABEL: loop.kernel @reversed
module attributes {graph.sizes = {rows = array<i64: 1048583, 1, 5000>}} {
  loop.kernel @reversed(%x: memref<1048583xf32>, %z: memref<4194332xf32>, %y: memref<1048583x4xf32>) {
    loop.for %i = 0 to 1048583 {
      loop.for %j = 0 to 4 {
        %a = loop.load %x[-%i + 1048582] : memref<1048583xf32>
        %b = loop.load %z[%i * -4 + %j + 4194328] : memref<4194332xf32>
        %c = arith.addf %a, %b : f32
        loop.store %c, %y[%i, %j] : memref<1048583x4xf32>
      }
    }
  }
}

// -----

// The last row but one need not exist.
module attributes {graph.sizes = {rows = array<i64: 1048583, 1, 5000>}} {
  loop.kernel @from_the_last_but_one(%x: memref<1048583xf32>, %y: memref<1048583xf32>) {
    loop.for %i = 0 to 1048583 {
      %c = arith.constant true
      %z = arith.constant 0.0 : f32
      // expected-error @+1 {{reaches only a part of rows elements}}
      %a = loop.load %x[-%i + 1048581] if %c else %z : memref<1048583xf32>
      loop.store %a, %y[%i] : memref<1048583xf32>
    }
  }
}
