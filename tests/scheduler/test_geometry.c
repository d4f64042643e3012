/* How large an instance's shared memory becomes. */
#include "scheduler/geometry.h"

#include <criterion/criterion.h>
#include <string.h>

static struct model_shape small_model(void)
{
    return (struct model_shape){.layers_count = 30,
                                .kv_heads_count = 3,
                                .key_length = 64,
                                .vocabulary_count = 49152,
                                .context_length = 8192,
                                .identity = {7}};
}

static struct config usual_config(void)
{
    struct config config = {.max_num_seqs = 32,
                            .max_num_batched_tokens = 512,
                            .prefill_chunk = 128,
                            .block_size = 16,
                            .kv_cache_memory_bytes = UINT64_C(1) << 30,
                            .workers = 1,
                            .max_waiting = 256};
    strcpy(config.kernels, "auto");
    strcpy(config.kv_cache_dtype, "auto");
    return config;
}

Test(geometry, the_pool_has_as_many_blocks_as_its_memory_holds)
{
    struct config config = usual_config();
    struct model_shape shape = small_model();
    struct geometry geometry;
    struct fault fault;
    cr_assert_eq(geometry_plan(&config, &shape, &geometry, &fault), STATUS_OK);
    /* 30 layers x K and V x 16 tokens x 3 heads x 64 elements x 2 bytes. */
    cr_assert_eq(geometry.block_bytes, 368640);
    cr_assert_eq(geometry.blocks_count, (UINT64_C(1) << 30) / 368640);
    cr_assert_eq(geometry.context_length, 8192);
    cr_assert_eq(geometry.records_count, 32 + 256 + 256);
    cr_assert_eq(geometry.model_identity[0], 7);
    uint64_t control_bytes;
    cr_assert_eq(layout_control_bytes(&geometry, &control_bytes, &fault), STATUS_OK);
    cr_assert_lt(control_bytes, 32 << 20);
}

Test(geometry, the_general_kernels_keep_their_cache_in_fp32)
{
    struct config config = usual_config();
    struct model_shape shape = small_model();
    struct geometry geometry;
    struct fault fault;
    strcpy(config.kernels, "general");
    cr_assert_eq(geometry_plan(&config, &shape, &geometry, &fault), STATUS_OK);
    cr_assert_eq(geometry.kv_element_bytes, 4);
    strcpy(config.kv_cache_dtype, "fp16");
    cr_assert_eq(geometry_plan(&config, &shape, &geometry, &fault), STATUS_OK);
    cr_assert_eq(geometry.kv_element_bytes, 2);
}

Test(geometry, the_context_is_bounded_by_the_pool)
{
    struct config config = usual_config();
    struct model_shape shape = small_model();
    struct geometry geometry;
    struct fault fault;
    config.num_blocks = 10;
    cr_assert_eq(geometry_plan(&config, &shape, &geometry, &fault), STATUS_OK);
    cr_assert_eq(geometry.context_length, 160);
    config.max_model_len = 161;
    cr_assert_eq(geometry_plan(&config, &shape, &geometry, &fault), STATUS_INVALID);
    cr_assert_str_eq(fault.sentence, "--max-model-len 161 needs more than the KV cache's "
                                     "160 tokens: give more --kv-cache-memory");
}

Test(geometry, impossible_sizes_are_refused_with_their_option)
{
    struct config config = usual_config();
    struct model_shape shape = small_model();
    struct geometry geometry;
    struct fault fault;
    config.max_model_len = 8193;
    cr_assert_eq(geometry_plan(&config, &shape, &geometry, &fault), STATUS_INVALID);
    cr_assert_str_eq(fault.param, "max-model-len");
    config = usual_config();
    config.kv_cache_memory_bytes = 1000;
    cr_assert_eq(geometry_plan(&config, &shape, &geometry, &fault), STATUS_INVALID);
    cr_assert_str_eq(fault.param, "kv-cache-memory");
}
