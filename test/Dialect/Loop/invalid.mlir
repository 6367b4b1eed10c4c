// RUN: deplo-opt %s --split-input-file --verify-diagnostics

// loop.kernel C1: arguments are memrefs.
// expected-error @below {{argument 0 must be a memref, got 'f32'}}
loop.kernel @kernel_c1(%x: f32) {
}

// -----

// loop.kernel C2: what is stored to is not loaded from.
loop.kernel @kernel_c2(%x: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    // expected-note @below {{loaded here}}
    %a = loop.load %x[%i] : memref<8xf32>
    // expected-error @below {{stores to argument 0, which the kernel also loads from; store to another buffer}}
    loop.store %a, %x[%i] : memref<8xf32>
  }
}

// -----

// loop.kernel C3: only loads and stores use arguments.
loop.kernel @kernel_c3(%x: memref<8xf32>) {
  // expected-error @below {{uses argument 0 of a kernel, which only loop.load and loop.store may use}}
  memref.dealloc %x : memref<8xf32>
}

// -----

// loop.for C1: the extent is not negative.
loop.kernel @for_c1() {
  // expected-error @below {{extent must not be negative, got -1}}
  loop.for %i = 0 to -1 {
  }
}

// -----

// loop.for C2: one index argument.
loop.kernel @for_c2() {
  // expected-error @below {{expects a body with one index argument}}
  "loop.for"() <{extent = 8 : i64}> ({
  ^bb0(%i: i64):
  }) : () -> ()
}

// -----

// loop.for stands in a kernel or in another loop.for.
func.func @for_parent() {
  // expected-error @below {{expects parent op to be one of 'loop.kernel, loop.for'}}
  loop.for %i = 0 to 8 {
  }
  return
}

// -----

loop.kernel @for_lower_bound() {
  // expected-error @below {{expected a loop from 0, got 1}}
  loop.for %i = 1 to 8 {
  }
}

// -----

// loop.reduce C1: the extent is not negative.
loop.kernel @reduce_c1(%x: memref<8xf32>) {
  // expected-error @below {{extent must not be negative, got -8}}
  %s = loop.reduce add %k = 0 to -8 : f32 {
    %a = loop.load %x[0] : memref<8xf32>
    loop.yield %a : f32
  }
}

// -----

// loop.reduce C2: as many monoids as results.
loop.kernel @reduce_c2_monoids(%x: memref<8xf32>) {
  // expected-error @below {{expects as many monoids, results and yielded values, at least one, got 2, 1 and 1}}
  %s = loop.reduce [add, max] %k = 0 to 8 : f32 {
    %a = loop.load %x[%k] : memref<8xf32>
    loop.yield %a : f32
  }
}

// -----

// loop.reduce C2: as many yielded values as results.
loop.kernel @reduce_c2_yield(%x: memref<8xf32>) {
  // expected-error @below {{expects as many monoids, results and yielded values, at least one, got 1, 1 and 2}}
  %s = loop.reduce add %k = 0 to 8 : f32 {
    %a = loop.load %x[%k] : memref<8xf32>
    loop.yield %a, %a : f32, f32
  }
}

// -----

// loop.reduce C2: at least one.
loop.kernel @reduce_c2_none() {
  // expected-error @below {{expects as many monoids, results and yielded values, at least one, got 0, 0 and 0}}
  "loop.reduce"() <{extent = 8 : i64, kinds = []}> ({
  ^bb0(%k: index):
    "loop.yield"() : () -> ()
  }) : () -> ()
}

// -----

// loop.reduce C2: types agree.
loop.kernel @reduce_c2_types(%x: memref<8xf32>) {
  // expected-error @below {{result 0 is 'f64' but the body yields 'f32'}}
  %s = loop.reduce add %k = 0 to 8 : f64 {
    %a = loop.load %x[%k] : memref<8xf32>
    loop.yield %a : f32
  }
}

// -----

// loop.reduce C3: no element is stored twice.
loop.kernel @reduce_c3(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-note @below {{the loop}}
  %s = loop.reduce add %k = 0 to 8 : f32 {
    %a = loop.load %x[%k] : memref<8xf32>
    // expected-error @below {{stores to the same element in every iteration of an enclosing loop}}
    loop.store %a, %y[0] : memref<8xf32>
    loop.yield %a : f32
  }
}

// -----

// loop.reduce C4: one index argument.
loop.kernel @reduce_c4(%x: memref<8xf32>) {
  // expected-error @below {{expects a body with one index argument}}
  %s = "loop.reduce"() <{extent = 8 : i64, kinds = [0 : i32]}> ({
    %a = loop.load %x[0] : memref<8xf32>
    "loop.yield"(%a) : (f32) -> ()
  }) : () -> f32
}

// -----

// loop.reduce C5: integers and floats.
loop.kernel @reduce_c5() {
  // expected-error @below {{result 0 must be an integer or a float, or a tile of them, got 'index'}}
  %s = loop.reduce add %k = 0 to 8 : index {
    loop.yield %k : index
  }
}

// -----

loop.kernel @unknown_monoid(%x: memref<8xf32>) {
  // expected-error @below {{unknown monoid 'sub', expected one of add, mul, max, min, logaddexp}}
  %s = loop.reduce sub %k = 0 to 8 : f32 {
    %a = loop.load %x[%k] : memref<8xf32>
    loop.yield %a : f32
  }
}

// -----

// loop.load C1: one coordinate for each dimension.
loop.kernel @load_c1(%x: memref<8x8xf32>) {
  // expected-error @below {{has 1 coordinates for a memref of rank 2}}
  %a = loop.load %x[0] : memref<8x8xf32>
}

// -----

// loop.load C2: the result is the element.
loop.kernel @load_c2(%x: memref<8xf32>) {
  // expected-error @below {{has a value of type 'f16' for elements of type 'f32'}}
  %a = "loop.load"(%x) <{map = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (memref<8xf32>) -> f16
}

// -----

// loop.load C3: coordinates come from induction variables.
loop.kernel @load_c3(%x: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    // expected-note @below {{it depends on this}}
    %j = arith.addi %i, %i : index
    // expected-error @below {{has a coordinate that is neither a constant nor affine in the induction variables of enclosing loops}}
    %a = loop.load %x[%j] : memref<8xf32>
  }
}

// -----

// loop.load C3: as many indices as the map has dimensions.
loop.kernel @load_c3_map(%x: memref<8xf32>) {
  // expected-error @below {{expects a map of 0 dimensions and no symbols, got affine_map<(d0) -> (d0)>}}
  %a = "loop.load"(%x) <{map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (memref<8xf32>) -> f32
}

// -----

// loop.load C4: within the memref, above.
loop.kernel @load_c4_high(%x: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    // expected-error @below {{coordinate 0 reaches 8, expected less than 8}}
    %a = loop.load %x[%i + 1] : memref<8xf32>
  }
}

// -----

// loop.load C4: within the memref, below.
loop.kernel @load_c4_low(%x: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    // expected-error @below {{coordinate 0 reaches -7, expected at least 0}}
    %a = loop.load %x[-%i] : memref<8xf32>
  }
}

// -----

// loop.load C4: constants too.
loop.kernel @load_c4_constant(%x: memref<4x8xf32>) {
  // expected-error @below {{coordinate 1 reaches 8, expected less than 8}}
  %a = loop.load %x[0, 8] : memref<4x8xf32>
}

// -----

// loop.load C5: of an argument of the kernel.
func.func @load_c5(%x: memref<8xf32>) {
  // expected-error @below {{expects as memref an argument of the enclosing loop.kernel}}
  %a = loop.load %x[0] : memref<8xf32>
  return
}

// -----

loop.kernel @load_type(%x: memref<8xf32>) {
  // expected-error @below {{expected a memref type, got 'tensor<8xf32>'}}
  %a = loop.load %x[0] : tensor<8xf32>
}

// -----

// loop.store C1: one coordinate for each dimension.
loop.kernel @store_c1(%v: memref<f32>, %y: memref<8xf32>) {
  %a = loop.load %v[] : memref<f32>
  // expected-error @below {{has 2 coordinates for a memref of rank 1}}
  loop.store %a, %y[0, 0] : memref<8xf32>
}

// -----

// loop.store C2: the value is an element.
loop.kernel @store_c2(%v: memref<f16>, %y: memref<8xf32>) {
  %a = loop.load %v[] : memref<f16>
  // expected-error @below {{has a value of type 'f16' for elements of type 'f32'}}
  "loop.store"(%a, %y) <{map = affine_map<() -> (0)>}> : (f16, memref<8xf32>) -> ()
}

// -----

// loop.store C3: coordinates come from induction variables.
loop.kernel @store_c3(%v: memref<f32>, %y: memref<64xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %v[] : memref<f32>
    // expected-note @below {{it depends on this}}
    %j = arith.muli %i, %i : index
    // expected-error @below {{has a coordinate that is neither a constant nor affine in the induction variables of enclosing loops}}
    loop.store %a, %y[%j] : memref<64xf32>
  }
}

// -----

// loop.store C4: within the memref.
loop.kernel @store_c4(%v: memref<f32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %v[] : memref<f32>
    // expected-error @below {{coordinate 0 reaches 14, expected less than 8}}
    loop.store %a, %y[%i * 2] : memref<8xf32>
  }
}

// -----

// loop.store C5: to an argument of the kernel.
func.func @store_c5(%a: f32, %y: memref<8xf32>) {
  // expected-error @below {{expects as memref an argument of the enclosing loop.kernel}}
  loop.store %a, %y[0] : memref<8xf32>
  return
}

// -----

// loop.store C6: iterations store to different elements.
loop.kernel @store_c6(%x: memref<4x8xf32>, %y: memref<8xf32>) {
  // expected-note @below {{the loop}}
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 8 {
      %a = loop.load %x[%i, %j] : memref<4x8xf32>
      // expected-error @below {{stores to the same element in every iteration of an enclosing loop}}
      loop.store %a, %y[%j] : memref<8xf32>
    }
  }
}

// -----

// loop.yield stands in a reduction.
loop.kernel @yield_parent(%x: memref<f32>) {
  %a = loop.load %x[] : memref<f32>
  // expected-error @below {{expects parent op 'loop.reduce'}}
  loop.yield %a : f32
}

// -----

// loop.launch C1: there is such a kernel.
func.func @launch_c1(%x: memref<8xf32>) {
  // expected-error @below {{launches @missing, which is neither a kernel of the module nor of a device module in it}}
  loop.launch @missing(%x) : memref<8xf32>
  return
}

// -----

// loop.launch C1: and it is a kernel.
func.func @launch_c1_kind(%x: memref<8xf32>) {
  // expected-error @below {{launches @function, which is not a kernel but a func.func}}
  loop.launch @function(%x) : memref<8xf32>
  return
}
func.func @function(%x: memref<8xf32>) {
  return
}

// -----

// loop.launch C2: as many buffers as arguments.
func.func @launch_c2_count(%x: memref<8xf32>) {
  // expected-error @below {{passes 1 buffers to @k, which takes 2}}
  loop.launch @k(%x) : memref<8xf32>
  return
}
loop.kernel @k(%x: memref<8xf32>, %y: memref<8xf32>) {
}

// -----

// loop.launch C2: of their types.
func.func @launch_c2_types(%x: memref<4xf32>) {
  // expected-error @below {{passes 'memref<4xf32>' as argument 0 of @k, expected 'memref<8xf32>'}}
  loop.launch @k(%x) : memref<4xf32>
  return
}
loop.kernel @k(%x: memref<8xf32>) {
}

// -----

// loop.launch C3: what the kernel stores to is passed once.
func.func @launch_c3(%x: memref<8xf32>) {
  // expected-error @below {{passes twice the buffer that @copy stores to as argument 1}}
  loop.launch @copy(%x, %x) : memref<8xf32>, memref<8xf32>
  return
}
loop.kernel @copy(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
}

// -----

// loop.result marks memrefs.
// expected-error @below {{'loop.result' marks argument 0 of type 'f32', expected a memref}}
func.func @result_type(%x: f32 {loop.result}) {
  return
}

// -----

// loop.result is a unit attribute.
// expected-error @below {{'loop.result' must be a unit attribute of a function argument}}
func.func @result_value(%x: memref<8xf32> {loop.result = 1}) {
  return
}

// -----

// expected-error @below {{has unknown argument attribute 'loop.other'}}
func.func @unknown_attribute(%x: memref<8xf32> {loop.other}) {
  return
}

// -----

// kernel C1: whole bytes.
// expected-error @below {{argument 0 is 'memref<8xi1>', whose elements are no whole bytes; a bool is an i8 in memory}}
loop.kernel @kernel_c1_bytes(%x: memref<8xi1>) {
}

// -----

// launch C4: a prepared launch depends on weights alone.
func.func @launch_c4(%x: memref<8xf32>, %y: memref<8xf32> {loop.result}) {
  %t = memref.alloc() : memref<8xf32>
  // expected-error @below {{is prepared, but passes as argument 0 of @launch_c4_copy argument 0 of the plan, which is not marked loop.weight}}
  loop.launch @launch_c4_copy(%x, %t) {loop.prepared} : memref<8xf32>, memref<8xf32>
  return
}
loop.kernel @launch_c4_copy(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
}

// -----

// expected-error @below {{'loop.weight' must be a unit attribute of a function argument}}
func.func @weight_unit(%x: memref<8xf32> {loop.weight = 1 : i64}) {
  return
}

// -----

// expected-error @below {{'loop.dtype' of argument 0 must be "bool" or "u8"}}
func.func @dtype_name(%x: memref<8xi8> {loop.dtype = "i8"}) {
  return
}

// -----

// expected-error @below {{'loop.dtype' marks argument 0, expected a memref of i8}}
func.func @dtype_type(%x: memref<8xf32> {loop.dtype = "u8"}) {
  return
}

// -----

// load C3: an index that is no loop variable needs a condition.
loop.kernel @load_c3_index(%x: memref<8xf32>, %n: memref<8xi64>, %y: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %m = loop.load %n[%i] : memref<8xi64>
    // expected-note @below {{it depends on this}}
    %index = arith.index_cast %m : i64 to index
    // expected-error @below {{has a coordinate that is neither a constant nor affine in the induction variables of enclosing loops}}
    %a = loop.load %x[%index] : memref<8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
}

// -----

// load C7: a condition comes with a value.
loop.kernel @load_c7(%x: memref<8xf32>, %y: memref<8xf32>) {
  %true = arith.constant true
  loop.for %i = 0 to 8 {
    // expected-error @below {{expects a condition and a value of the element's type where it is false, or neither}}
    %a = "loop.load"(%x, %i, %true) <{map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (memref<8xf32>, index, i1) -> f32
    loop.store %a, %y[%i] : memref<8xf32>
  }
}

// -----

// loop.size C1: the number is positive.
loop.kernel @size_c1(%y: memref<i64>) {
  // expected-error @below {{'loop.size' op is of 0, expected a positive number}}
  %n = loop.size 0 : i64
  loop.store %n, %y[] : memref<i64>
}

// -----

// loop.size C2: the result is an index or an i64.
loop.kernel @size_c2(%y: memref<i32>) {
  // expected-error @below {{'loop.size' op result #0 must be index or 64-bit signless integer, but got 'i32'}}
  %n = loop.size 1048583 : i32
  loop.store %n, %y[] : memref<i32>
}

// -----

// reduce C6: logaddexp is of floats.
loop.kernel @reduce_c6(%x: memref<8xi32>) {
  // expected-error @below {{combines elements of 'i32' by logaddexp, expected floats}}
  %r = loop.reduce logaddexp %k = 0 to 8 : i32 {
    %a = loop.load %x[%k] : memref<8xi32>
    loop.yield %a : i32
  }
}

// -----

// scan C1: the extent.
loop.kernel @scan_c1() {
  // expected-error @below {{extent must not be negative, got -1}}
  loop.scan %k = 0 to -1 {
  }
}

// -----

// scan C2: the variable.
loop.kernel @scan_c2() {
  // expected-error @below {{expects a body with one index argument}}
  "loop.scan"() <{extent = 8 : i64}> ({
  ^bb0(%k: i32):
  }) : () -> ()
}

// -----

// scan C3: no loop in it.
loop.kernel @scan_c3(%x: memref<8x8xf32>) {
  loop.scan %k = 0 to 8 {
    // expected-error @below {{is in a loop.scan, which must not hold other loops}}
    %r = loop.reduce add %l = 0 to 8 : f32 {
      %a = loop.load %x[%k, %l] : memref<8x8xf32>
      loop.yield %a : f32
    }
  }
}

// -----

// A scan is in parallel loops.
loop.kernel @scan_parent(%x: memref<8x8xf32>) {
  %r = loop.reduce add %l = 0 to 8 : f32 {
    // expected-error @below {{expects parent op to be one of 'loop.kernel, loop.for'}}
    loop.scan %k = 0 to 8 {
    }
    %a = loop.load %x[%l, %l] : memref<8x8xf32>
    loop.yield %a : f32
  }
}

// -----

// running C1: the element.
loop.kernel @running_c1() {
  loop.scan %k = 0 to 8 {
    // expected-error @below {{folds 'index', expected an integer or a float}}
    %s = loop.running add %k : index
  }
}

// -----

// running C2: logaddexp is of floats.
loop.kernel @running_c2(%x: memref<8xi32>) {
  loop.scan %k = 0 to 8 {
    %a = loop.load %x[%k] : memref<8xi32>
    // expected-error @below {{combines elements of 'i32' by logaddexp, expected floats}}
    %s = loop.running logaddexp %a : i32
  }
}

// -----

// A running value belongs to a scan.
loop.kernel @running_parent(%x: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    // expected-error @below {{expects parent op 'loop.scan'}}
    %s = loop.running add %a : f32
  }
}

// -----

// store C6: iterations of a scan store to different elements.
loop.kernel @store_c6_scan(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-note @below {{the loop}}
  loop.scan %k = 0 to 8 {
    %a = loop.load %x[%k] : memref<8xf32>
    // expected-error @below {{stores to the same element in every iteration of an enclosing loop}}
    loop.store %a, %y[0] : memref<8xf32>
  }
}

// -----

// loop.reduce C7: a part with their number.
loop.kernel @reduce_c7_number(%x: memref<8xf32>, %y: memref<4xf32>) {
  loop.for %p = 0 to 4 {
    // expected-error @+1 {{'loop.reduce' op expects a part together with the number of parts}}
    %s = "loop.reduce"(%p) <{extent = 8 : i64, kinds = [0 : i32]}> ({
    ^bb0(%k: index):
      %a = loop.load %x[%k] : memref<8xf32>
      loop.yield %a : f32
    }) : (index) -> f32
    loop.store %s, %y[%p] : memref<4xf32>
  }
}

// -----

// loop.reduce C7: at least two parts.
loop.kernel @reduce_c7_one(%x: memref<8xf32>, %y: memref<1xf32>) {
  loop.for %p = 0 to 1 {
    // expected-error @+1 {{'loop.reduce' op is one of 1 parts, expected at least 2}}
    %s = loop.reduce add %k = 0 to 8 part %p of 1 : f32 {
      %a = loop.load %x[%k] : memref<8xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%p] : memref<1xf32>
  }
}

// -----

// loop.reduce C7: of a loop of as many iterations.
loop.kernel @reduce_c7_loop(%x: memref<8xf32>, %y: memref<4xf32>) {
  loop.for %p = 0 to 4 {
    // expected-error @+1 {{'loop.reduce' op is one of 3 parts, expected the variable of a loop.for of as many iterations}}
    %s = loop.reduce add %k = 0 to 8 part %p of 3 : f32 {
      %a = loop.load %x[%k] : memref<8xf32>
      loop.yield %a : f32
    }
    loop.store %s, %y[%p] : memref<4xf32>
  }
}
