// RUN: deplo-opt %s --split-input-file --verify-diagnostics

// graph.weight is a unit.
// expected-error @below {{'graph.weight' of argument 0 must be a unit}}
func.func @weight(%x: tensor<4xf32> {graph.weight = true}) {
  return
}

// -----

// graph.name is a string.
// expected-error @below {{'graph.name' of argument 0 must be a string}}
func.func @name(%x: tensor<4xf32> {graph.name = 1 : i64}) {
  return
}

// -----

// graph.strides has one stride for each dimension.
// expected-error @below {{'graph.strides' of argument 0 has 1 strides for a 2-dimensional tensor}}
func.func @strides_rank(%x: tensor<4x8xf32> {graph.strides = array<i64: 8>}) {
  return
}

// -----

// graph.strides are not negative.
// expected-error @below {{'graph.strides' of argument 0 must not be negative, got -1}}
func.func @strides_negative(%x: tensor<4xf32> {graph.strides = array<i64: -1>}) {
  return
}

// -----

// graph.strides are 64-bit integers.
// expected-error @below {{'graph.strides' of argument 0 must be an array of 64-bit integers}}
func.func @strides_type(%x: tensor<4xf32> {graph.strides = [1]}) {
  return
}

// -----

// graph.strides are for tensors.
// expected-error @below {{'graph.strides' marks argument 0 of type 'f32', expected a ranked tensor}}
func.func @strides_scalar(%x: f32 {graph.strides = array<i64: 1>}) {
  return
}

// -----

// There are no other attributes of arguments.
// expected-error @below {{has unknown argument attribute 'graph.color'}}
func.func @attribute(%x: tensor<4xf32> {graph.color = "red"}) {
  return
}

// -----

// #graph.dims C1: as many names as dimensions.
// expected-error @below {{names 1 dimensions of a tensor that has 2}}
func.func @dims_c1(%x: tensor<?x8xf32, #graph.dims<"n">>) {
  return
}

// -----

// #graph.dims C2: symbolic dimensions have a name.
// expected-error @below {{dimension 0 is symbolic, name it}}
func.func @dims_c2_unnamed(%x: tensor<?x8xf32, #graph.dims<"", "">>) {
  return
}

// -----

// #graph.dims C2: fixed dimensions have none.
// expected-error @below {{dimension 1 named 'm' has the fixed size 8, leave its name empty}}
func.func @dims_c2_named(%x: tensor<?x8xf32, #graph.dims<"n", "m">>) {
  return
}

// -----

// Pointwise operators C1: one type.
func.func @unary_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.exp' op requires the same type for all operands and results}}
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// Elements are f32, f16 or bf16.
func.func @unary_element(%x: tensor<4xf64>) {
  // expected-error @below {{operand #0 must be ranked tensor of 16-bit float or bfloat16 type or 32-bit float values}}
  %0 = graph.exp %x : tensor<4xf64>
  return
}

// -----

// Binary operators C1: one element type.
func.func @binary_c1(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error @below {{'graph.add' op requires the same element type for all operands and results}}
  %0 = graph.add %x, %y : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return
}

// -----

// Binary operators C2: shapes broadcast.
func.func @binary_c2(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{'graph.add' op operands don't have broadcast-compatible shapes}}
  %0 = graph.add %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

// Binary operators C2: to the result's shape.
func.func @binary_c2_result(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{'graph.add' op result is 'tensor<2x4xf32>', expected the shape [4]}}
  %0 = graph.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// graph.cast C1: one shape.
func.func @cast_c1(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.cast' op requires the same shape for all operands and results}}
  %0 = graph.cast %x : tensor<4xf32> to tensor<5xf16>
  return
}

// -----

// Reductions C1: axes are within the rank.
func.func @sum_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.sum' op axis 2 is not one of the operand's 2}}
  %0 = graph.sum %x axes [2] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

// Reductions C1: axes increase.
func.func @mean_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.mean' op axes must increase, got 0 after 1}}
  %0 = graph.mean %x axes [1, 0] : tensor<4x8xf32> -> tensor<f32>
  return
}

// -----

// Reductions C2: the result's shape.
func.func @prod_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.prod' op result is 'tensor<4xf32>', expected the shape [4, 1]}}
  %0 = graph.prod %x axes [1] keepdims : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

// graph.amax C3: the axes hold an element.
func.func @amax_c3(%x: tensor<4x0xf32>) {
  // expected-error @below {{'graph.amax' op axis 1 is empty, it has no extreme element}}
  %0 = graph.amax %x axes [1] : tensor<4x0xf32> -> tensor<4xf32>
  return
}

// -----

// graph.amin C3: the axes hold an element.
func.func @amin_c3(%x: tensor<0xf32>) {
  // expected-error @below {{'graph.amin' op axis 0 is empty, it has no extreme element}}
  %0 = graph.amin %x axes [0] : tensor<0xf32> -> tensor<f32>
  return
}

// -----

// graph.var C1 and C2 of graph.sum.
func.func @var_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.var' op result is 'tensor<8xf32>', expected the shape [4]}}
  %0 = graph.var %x axes [1] correction 1.0 : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

// graph.var C3: the correction is not negative.
func.func @var_c3(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.var' op correction must not be negative, got -1}}
  %0 = graph.var %x axes [1] correction -1.0 : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

// graph.rms_norm C1: the rank.
func.func @rms_norm_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.rms_norm' op rank is 3, expected 1 to 2}}
  %0 = graph.rms_norm %x rank 3 eps 1.0 : tensor<4x8xf32>
  return
}

// -----

// graph.rms_norm C2: the weight's shape.
func.func @rms_norm_c2(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{'graph.rms_norm' op weight is 'tensor<4xf32>', expected the shape of the operand's last 1 axes}}
  %0 = graph.rms_norm %x weight %w : tensor<4xf32> rank 1 eps 1.0 : tensor<4x8xf32>
  return
}

// -----

// graph.rms_norm C3: no bias.
func.func @rms_norm_c3(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{'graph.rms_norm' op has no bias, add it with graph.add}}
  %0 = graph.rms_norm %x bias %w : tensor<8xf32> rank 1 eps 1.0 : tensor<4x8xf32>
  return
}

// -----

// graph.layer_norm C1.
func.func @layer_norm_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.layer_norm' op rank is 0, expected 1 to 2}}
  %0 = graph.layer_norm %x rank 0 eps 1.0 : tensor<4x8xf32>
  return
}

// -----

// graph.layer_norm C2: the bias's shape.
func.func @layer_norm_c2(%x: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // expected-error @below {{'graph.layer_norm' op bias is 'tensor<4x8xf32>', expected the shape of the operand's last 1 axes}}
  %0 = graph.layer_norm %x bias %b : tensor<4x8xf32> rank 1 eps 1.0 : tensor<4x8xf32>
  return
}

// -----

// graph.softmax C1: the axis.
func.func @softmax_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.softmax' op axis is 2, the operand has 2 axes}}
  %0 = graph.softmax %x axis 2 : tensor<4x8xf32>
  return
}

// -----

// graph.log_softmax C1: the axis.
func.func @log_softmax_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.log_softmax' op axis is -1, the operand has 2 axes}}
  %0 = graph.log_softmax %x axis -1 : tensor<4x8xf32>
  return
}

// -----

// graph.scan C1: the axis.
func.func @scan_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.scan' op axis is 2, the operand has 2 axes}}
  %0 = graph.scan add %x axis 2 : tensor<4x8xf32>
  return
}

// -----

// graph.scan C2: there is no logaddexp of integers.
func.func @scan_c2(%x: tensor<4x8xi32>) {
  // expected-error @below {{'graph.scan' op combines elements of 'i32' by logaddexp, expected floats}}
  %0 = graph.scan logaddexp %x axis 1 : tensor<4x8xi32>
  return
}

// -----

// graph.reduce C3: nor is there in a reduction.
func.func @reduce_c3(%x: tensor<4x8xi32>) {
  // expected-error @below {{'graph.reduce' op combines elements of 'i32' by logaddexp, expected floats}}
  %0 = graph.reduce logaddexp %x axes [1] : tensor<4x8xi32> -> tensor<4xi32>
  return
}

// -----

// graph.reshape C1: as many elements.
func.func @reshape_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.reshape' op the operand has 32 elements, the result 24}}
  %0 = graph.reshape %x : tensor<4x8xf32> -> tensor<24xf32>
  return
}

// -----

// graph.permute C1: a permutation.
func.func @permute_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.permute' op [0, 0] is not a permutation of the operand's 2 axes}}
  %0 = graph.permute %x by [0, 0] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

// graph.permute C2: the permuted shape.
func.func @permute_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.permute' op result is 'tensor<4x8xf32>', expected the shape [8, 4]}}
  %0 = graph.permute %x by [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// graph.expand C1: only axes of size 1 grow.
func.func @expand_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.expand' op operand axis 0 has size 4, expected 1 or 5}}
  %0 = graph.expand %x : tensor<4x8xf32> -> tensor<5x8xf32>
  return
}

// -----

// graph.expand C1: the rank does not shrink.
func.func @expand_c1_rank(%x: tensor<1x8xf32>) {
  // expected-error @below {{'graph.expand' op the operand has 2 axes, more than the result's 1}}
  %0 = graph.expand %x : tensor<1x8xf32> -> tensor<8xf32>
  return
}

// -----

// graph.slice C1: an offset and a stride for each axis.
func.func @slice_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.slice' op has 1 offsets and 2 strides for 2 axes}}
  %0 = graph.slice %x offsets [0] strides [1, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// graph.slice C1: strides are positive.
func.func @slice_c1_stride(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.slice' op the stride of axis 0 must be positive, got 0}}
  %0 = graph.slice %x offsets [0] strides [0] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// graph.slice C2: the rank stays.
func.func @slice_c2_rank(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.slice' op the result has 1 axes, expected the operand's 2}}
  %0 = graph.slice %x offsets [0, 0] strides [1, 1] : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

// graph.slice C2: within the operand, however large the numbers.
func.func @slice_c2(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.slice' op axis 0 reads 3 elements from 1 by 9223372036854775807, the operand has 8}}
  %0 = graph.slice %x offsets [1] strides [9223372036854775807] : tensor<8xf32> -> tensor<3xf32>
  return
}

// -----

// graph.map C1: one shape.
func.func @map_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.map' op operand 0 is 'tensor<8xf32>', expected the shape of the result 'tensor<4x8xf32>', broadcast it with graph.index_map}}
  %0 = graph.map (%a = %x : tensor<8xf32>) -> tensor<4x8xf32> {
    graph.yield %a : f32
  }
  return
}

// -----

// graph.map C2: as many arguments as operands.
func.func @map_c2_number(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.map' op region has 0 arguments for 1 operands}}
  %0 = "graph.map"(%x) ({
    %c = arith.constant 1.0 : f32
    graph.yield %c : f32
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// graph.map C2: arguments are elements.
func.func @map_c2(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.map' op region argument 0 is 'f16', expected 'f32'}}
  %0 = "graph.map"(%x) ({
  ^bb0(%a: f16):
    graph.yield %a : f16
  }) : (tensor<8xf32>) -> tensor<8xf16>
  return
}

// -----

// graph.map C3: one value.
func.func @map_c3_number(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.map' op region yields 2 values, expected one}}
  %0 = graph.map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    graph.yield %a, %a : f32, f32
  }
  return
}

// -----

// graph.map C3: of the result's element type.
func.func @map_c3(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.map' op region yields 'f32', expected 'f16'}}
  %0 = graph.map (%a = %x : tensor<8xf32>) -> tensor<8xf16> {
    graph.yield %a : f32
  }
  return
}

// -----

// graph.map C4: scalar arithmetic.
func.func @map_c4(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.map' op region holds graph.constant, expected scalar arithmetic}}
  %0 = graph.map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    // expected-note @below {{here}}
    %c = graph.constant dense<1.0> : tensor<8xf32>
    graph.yield %a : f32
  }
  return
}

// -----

// graph.map is isolated: its scalars come from its operands.
func.func @map_isolated(%x: tensor<8xf32>) {
  %c = arith.constant 1.0 : f32
  %0 = graph.map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    // expected-error @below {{use of undeclared SSA value name}}
    graph.yield %c : f32
  }
  return
}

// -----

// graph.reduce C1: axes are within the rank.
func.func @reduce_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.reduce' op axis -1 is not one of the operand's 2}}
  %0 = graph.reduce add %x axes [-1] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

// graph.reduce C2: the result's shape.
func.func @reduce_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.reduce' op result is 'tensor<8xf32>', expected the shape [4]}}
  %0 = graph.reduce add %x axes [1] : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

// graph.reduce C2: the result's elements.
func.func @reduce_c2_element(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.reduce' op result holds 'f16', expected the operand's 'f32'}}
  %0 = graph.reduce add %x axes [1] : tensor<4x8xf32> -> tensor<4xf16>
  return
}

// -----

// graph.index_map C1: no symbols.
func.func @index_map_c1_symbols(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.index_map' op map must not have symbols}}
  %0 = graph.index_map %x by affine_map<(d0)[s0] -> (d0 + s0)> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// graph.index_map C1: from the result's coordinates to the operand's.
func.func @index_map_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.index_map' op map takes 1 coordinates to 1, expected the result's 2 to the operand's 1}}
  %0 = graph.index_map %x by affine_map<(d0) -> (d0)> : tensor<8xf32> -> tensor<4x8xf32>
  return
}

// -----

// graph.index_map C2: one element type.
func.func @index_map_c2(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.index_map' op result holds 'f16', expected the operand's 'f32'}}
  %0 = graph.index_map %x by affine_map<(d0) -> (d0)> : tensor<8xf32> -> tensor<8xf16>
  return
}

// -----

// graph.index_map C3: within the operand.
func.func @index_map_c3(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.index_map' op coordinate 0 runs from 1 to 8, the operand has 8 elements}}
  %0 = graph.index_map %x by affine_map<(d0) -> (d0 + 1)> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// graph.index_map C3: a coordinate that can't be bounded is not within.
func.func @index_map_c3_division(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.index_map' op coordinate 0 divides by something other than a positive constant, or overflows}}
  %0 = graph.index_map %x by affine_map<(d0) -> (d0 * 9223372036854775807)> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// graph.fused C1: arguments are operands.
func.func @fused_c1(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.fused' op region arguments are ('tensor<4xf32>'), expected ('tensor<8xf32>')}}
  %0 = "graph.fused"(%x) <{kernel = "k"}> ({
  ^bb0(%a: tensor<4xf32>):
    graph.yield %a : tensor<4xf32>
  }) : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

// graph.fused C2: yields its results.
func.func @fused_c2(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.fused' op region yields ('tensor<8xf32>'), expected ('tensor<4xf32>')}}
  %0 = graph.fused @k (%a = %x : tensor<8xf32>) -> (tensor<4xf32>) {
    graph.yield %a : tensor<8xf32>
  }
  return
}

// -----

// graph.fused C3: primitives only.
func.func @fused_c3(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.fused' op region holds graph.exp, expected primitives, decompose it first}}
  %0 = graph.fused @k (%a = %x : tensor<8xf32>) -> (tensor<8xf32>) {
    // expected-note @below {{here}}
    %b = graph.exp %a : tensor<8xf32>
    graph.yield %b : tensor<8xf32>
  }
  return
}

// -----

// A kernel has a name.
func.func @fused_name(%x: tensor<8xf32>) {
  // expected-error @below {{expected valid '@'-identifier for symbol name}}
  %0 = graph.fused (%a = %x : tensor<8xf32>) -> (tensor<8xf32>) {
    graph.yield %a : tensor<8xf32>
  }
  return
}

// -----

// The values of a map are named.
func.func @map_syntax(%x: tensor<8xf32>) {
  // expected-error @below {{expected '='}}
  %0 = graph.map (%x : tensor<8xf32>) -> tensor<8xf32> {
    graph.yield %x : tensor<8xf32>
  }
  return
}

// -----

// graph.index C1: an axis of the map's result.
func.func @index_c1() {
  %0 = graph.map () -> tensor<8xi64> {
    // expected-error @below {{'graph.index' op axis is 1, the map's result has 1 axes}}
    %i = graph.index 1 : i64
    graph.yield %i : i64
  }
  return
}

// -----

// expected-error @below {{'graph.unsigned' marks argument 0 of type 'tensor<8xi32>', expected i8 elements}}
func.func @unsigned_argument(%x: tensor<8xi32> {graph.unsigned}) {
  return
}

// -----

// expected-error @below {{'graph.unsigned' of result 0 must be a unit}}
func.func private @unsigned_result() -> (tensor<8xi8> {graph.unsigned = 1 : i64})

// -----

// expected-error @below {{has unknown result attribute 'graph.name'}}
func.func private @result_attribute() -> (tensor<8xi8> {graph.name = "x"})

// -----

// graph.gather C1: one map and one guard for each source.
func.func @gather_c1_count(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.gather' op has 1 sources, 2 maps and 1 guards, expected one of each at least}}
  %0 = "graph.gather"(%x) <{guards = [affine_map<(d0) -> ()>], maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], operandSegmentSizes = array<i32: 1, 0>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// graph.gather C1: maps take the result's coordinates and the indices.
func.func @gather_c1_dims(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.gather' op the map or guard of source 0 takes 1 coordinates and 1 indices, expected 1 and 0}}
  %0 = graph.gather %x by affine_map<(d0)[s0] -> (s0)> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// graph.gather C1: maps go to the source's coordinates.
func.func @gather_c1_results(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.gather' op the map of source 0 goes to 2 coordinates, expected 1}}
  %0 = graph.gather %x by affine_map<(d0) -> (d0, d0)> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// graph.gather C2: sources.
func.func @gather_c2(%x: tensor<8xf16>) {
  // expected-error @below {{'graph.gather' op source 0 holds 'f16', expected 'f32'}}
  %0 = graph.gather %x by affine_map<(d0) -> (d0)> : (tensor<8xf16>) -> tensor<8xf32>
  return
}

// -----

// graph.gather C2: fill.
func.func @gather_c2_fill(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.gather' op fills with 'i32', expected 'f32'}}
  %0 = graph.gather %x by affine_map<(d0) -> (d0)> else 0 : i32 : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// graph.gather C3: index tensors have the result's shape.
func.func @gather_c3(%x: tensor<8xf32>, %n: tensor<4xi64>) {
  // expected-error @below {{'graph.gather' op index tensor 0 is 'tensor<4xi64>', expected the shape of the result 'tensor<8xf32>', broadcast it with graph.index_map}}
  %0 = graph.gather %x by affine_map<(d0)[s0] -> (s0)> at %n : (tensor<8xf32>, tensor<4xi64>) -> tensor<8xf32>
  return
}

// -----

// graph.gather C4: within the source where the guard holds.
func.func @gather_c4(%x: tensor<8xf32>) {
  // expected-error @below {{'graph.gather' op coordinate 0 of source 0 is not within 8 elements wherever its guard holds}}
  %0 = graph.gather %x by affine_map<(d0) -> (d0 - 2)> where affine_map<(d0) -> (d0 - 1)> : (tensor<8xf32>) -> tensor<10xf32>
  return
}

// -----

// graph.size C1: the number is positive.
func.func @size_c1() {
  %0 = graph.map () -> tensor<8xi64> {
    // expected-error @below {{'graph.size' op is of 0, expected a positive number}}
    %n = graph.size 0 : i64
    graph.yield %n : i64
  }
  return
}

// -----

// graph.contract C1: a coordinate to sum over.
func.func @contract_c1_sum(%x: tensor<4x8xf32>) {
  // expected-error @below {{'graph.contract' op map of lhs takes 2 coordinates and 0 symbols to 2, expected the result's 2, at least one that is summed over and no symbols, to the operand's 2}}
  %0 = graph.contract %x by affine_map<(d0, d1) -> (d0, d1)>, %x by affine_map<(d0, d1) -> (d0, d1)> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// graph.contract C1: coordinates of the operand.
func.func @contract_c1_rank(%x: tensor<4x8xf32>) {
  // expected-error @below {{map of rhs takes 3 coordinates and 0 symbols to 1}}
  %0 = graph.contract %x by affine_map<(d0, d1, d2) -> (d0, d2)>, %x by affine_map<(d0, d1, d2) -> (d2)> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return
}

// -----

// graph.contract C2: extents of what is summed over.
func.func @contract_c2_extent(%x: tensor<8x5xf32>) {
  // expected-error @below {{'graph.contract' op coordinate 2 is summed over and is no coordinate of an operand by itself}}
  %0 = graph.contract %x by affine_map<(d0, d1, d2) -> (d0 + d2, d1)>, %x by affine_map<(d0, d1, d2) -> (d0 + d2, d1)> : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

// graph.contract C2: the same extent in both.
func.func @contract_c2_equal(%x: tensor<4x8xf32>, %y: tensor<7x5xf32>) {
  // expected-error @below {{'graph.contract' op sums over 8 elements, axis 0 of rhs has 7}}
  %0 = graph.contract %x by affine_map<(d0, d1, d2) -> (d0, d2)>, %y by affine_map<(d0, d1, d2) -> (d2, d1)> : (tensor<4x8xf32>, tensor<7x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

// graph.contract C3: operands of one type.
func.func @contract_c3_operands(%x: tensor<4x8xf32>, %y: tensor<8x5xf16>) {
  // expected-error @below {{'graph.contract' op multiplies elements of 'f32' and 'f16', expected one type}}
  %0 = graph.contract %x by affine_map<(d0, d1, d2) -> (d0, d2)>, %y by affine_map<(d0, d1, d2) -> (d2, d1)> : (tensor<4x8xf32>, tensor<8x5xf16>) -> tensor<4x5xf32>
  return
}

// -----

// graph.contract C3: the result's type.
func.func @contract_c3_result(%x: tensor<4x8xf16>, %y: tensor<8x5xf16>) {
  // expected-error @below {{'graph.contract' op result holds 'bf16', expected the operands' 'f16' or f32}}
  %0 = graph.contract %x by affine_map<(d0, d1, d2) -> (d0, d2)>, %y by affine_map<(d0, d1, d2) -> (d2, d1)> : (tensor<4x8xf16>, tensor<8x5xf16>) -> tensor<4x5xbf16>
  return
}

// -----

// graph.contract C3: i8 goes to i32, no other integers are widened.
func.func @contract_c3_integers(%x: tensor<4x8xi32>, %y: tensor<8x5xi32>) {
  // expected-error @below {{'graph.contract' op result holds 'i64', expected the operands' 'i32', or i32 of i8}}
  %0 = graph.contract %x by affine_map<(d0, d1, d2) -> (d0, d2)>, %y by affine_map<(d0, d1, d2) -> (d2, d1)> : (tensor<4x8xi32>, tensor<8x5xi32>) -> tensor<4x5xi64>
  return
}

// -----

// graph.contract C4: coordinates within the operands.
func.func @contract_c4(%x: tensor<16xf32>, %w: tensor<3xf32>) {
  // expected-error @below {{'graph.contract' op coordinate 0 of lhs runs from 0 to 16, the operand has 16 elements}}
  %0 = graph.contract %x by affine_map<(d0, d1) -> (d0 + d1)>, %w by affine_map<(d0, d1) -> (d1)> : (tensor<16xf32>, tensor<3xf32>) -> tensor<15xf32>
  return
}
