# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The collection of inputs that broke other compilers, by number: the tests of each, or
why it is none of Python programs.

Letters are subjects: A softmax and attention, B extremes, NaN and comparisons, C division,
rounding and casts, D matrix products, E reductions and statistics, F indices, strides and
aliasing, G random numbers, hosts and robustness.
"""

import re
from pathlib import Path

import pytest

TESTS = {
    "A1": "test_softmax_takes_the_maximum_after_scaling",
    "A2": "test_softmax_of_infinities_is_nan",
    "A4": "test_sum_of_a_softmax_is_computed",
    "A5": "test_result_with_and_without_a_second_output",
    "A7": "test_softmax_over_the_middle_axis_at_full_size",
    "A8": "test_softmax_of_rows_with_one_more_column",
    "A10": "test_attention_under_a_mask_of_other_lengths",
    "A11": "test_attention_of_one_query_over_keys_of_any_number",
    "A13": "test_stale_values_of_a_first_shape_are_not_kept",
    "B14": "test_nan_wins_in_maxima_at_any_place test_relu_keeps_nan",
    "B16": "test_first_of_equal_and_first_nan",
    "B17": "test_first_of_equal_and_first_nan test_position_in_long_rows",
    "B19": "test_maximum_of_a_negative_row_of_five",
    "B20": "test_clamp_with_nan_bounds",
    "B22": "test_product_is_compared_after_rounding",
    "B23": "test_adding_zero_is_not_folded_away",
    "C25": "test_division_is_correctly_rounded",
    "C26": "test_floor_division_of_tenths",
    "C28": "test_signs_of_integer_remainders",
    "C29": "test_integer_division_by_zero_and_overflow_do_not_stop",
    "C31": "test_unary test_rounding_to_decimals",
    "C32": "test_powers_of_two_down_to_subnormals",
    "C34": "test_no_overflow_before_the_end",
    "C35": "test_no_overflow_before_the_end",
    "C37": "test_gelu_far_from_zero",
    "C38": "test_explicit_casts_round",
    "C40": "test_square_root_of_a_negative_number",
    "D41": "test_products_with_the_identity_keep_every_bit test_the_identity_keeps_every_bit",
    "D43": "test_sums_of_positive_numbers test_infinities_meet_ones",
    "D44": "test_shapes_that_broke_others",
    "D45": "test_shapes_that_broke_others",
    "D46": "test_shapes_that_broke_others",
    "D47": "test_shapes_that_broke_others",
    "D50": "test_a_few_long_rows",
    "D51": "test_a_cube_of_4096_fits",
    "D52": "test_odd_vocabularies",
    "D53": "test_a_beta_of_zero_takes_nothing_from_what_is_added",
    "D58": "test_a_product_is_added_in_place_once",
    "E59": "test_layer_norm_of_huge_equal_values_is_zero test_variance_far_from_zero_is_exact",
    "E61": "test_instance_norm_of_large_images",
    "E62": "test_statistics_of_nothing test_maximum_of_nothing_is_an_error",
    "E64": "test_last_row_of_an_odd_number_of_rows",
    "E65": "test_statistics_of_a_large_intermediate",
    "E67": "test_sum_of_a_large_matrix_has_the_same_bits_twice",
    "F68": "test_more_than_2_to_31_elements test_a_channel_less_its_mean_in_chunks",
    "F70": "test_expanded_rows_beyond_2_to_31 test_rows_2_to_31_elements_apart",
    "F71": "test_index_add_on_an_expanded_tensor",
    "F73": "test_copy_keeps_the_old_source",
    "F74": "test_view_is_read_before_it_is_written",
    "F76": "test_strides_are_observed",
    "F77": "test_a_matrix_and_its_transpose",
    "F80": "test_concatenation_and_its_softmax",
    "G82": "test_dropout_of_integers_raises_as_pytorch_does",
    "G83": "test_producers_are_computed_once test_shared_subgraphs_are_not_duplicated",
    "G88": "test_bounds_hold_for_pytorch",
}
REASONS = {
    "G85": "buffers begin at multiples of their swizzle's period: "
    "test/Conversion/TileToKernel/wgmma-alignment.mlir",
    "G86": "deplo has operations of its own for matrix products, and no nvgpu operation is read",
}


def defined_tests():
    files = Path(__file__).parent.glob("test_*.py")
    text = "\n".join(file.read_text() for file in files)
    return set(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))


@pytest.mark.parametrize("case", [*TESTS, *REASONS])
def test_case_has_tests_or_a_reason(case):
    if case in REASONS:
        print(f"{case}: {REASONS[case]}")
        assert case not in TESTS
        return
    missing = set(TESTS[case].split()) - defined_tests()
    assert not missing, f"{case} names tests that aren't there: {missing}"
