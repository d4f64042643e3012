/* Values against double sums; bits against slots, neighbours, counts and threads. */
#include "common/base/rng.h"
#include "common/gguf/gguf_type.h"
#include "worker/math/matmul.h"
#include "worker/math/quant.h"
#include "worker/math/slot_test.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX    33
#define INPUTS      576
#define OUTPUTS_MAX 200

static float input[ROWS_MAX + MATMUL_TILE_ROWS][INPUTS];

struct product {
    struct team *team;
    struct matmul *matmul;
    struct matrix matrix;
    void *weights;
};

static void fill_input(uint32_t stream)
{
    for (uint32_t row = 0; row < ROWS_MAX; row++)
        for (uint32_t i = 0; i < INPUTS; i++)
            input[row][i] = rng_uniform(stream, row, i, 0) * 2.0f - 1.0f;
}

/* Random bytes are valid Q8_0 quants; each block's scale is set to something small. */
static void *random_q8_0(uint64_t outputs)
{
    const struct gguf_type *type = gguf_type_find(GGUF_TYPE_Q8_0);
    uint64_t blocks = outputs * INPUTS / type->block_elements;
    unsigned char *weights = malloc(blocks * type->block_bytes);
    for (uint64_t i = 0; i < blocks * type->block_bytes; i++)
        weights[i] = (unsigned char)(rng_uniform(1, 0, (uint32_t)i, 0) * 256.0f);
    for (uint64_t block = 0; block < blocks; block++) {
        weights[block * type->block_bytes] = (unsigned char)block;
        weights[block * type->block_bytes + 1] = 0x20; /* about 2^-7 in fp16 */
    }
    return weights;
}

static void product_init(struct product *product, uint64_t outputs, uint32_t threads)
{
    struct fault fault;
    const struct gguf_type *type = gguf_type_find(GGUF_TYPE_Q8_0);
    product->weights = random_q8_0(outputs);
    product->matrix = (struct matrix){.data = product->weights,
                                      .type = GGUF_TYPE_Q8_0,
                                      .inputs_count = INPUTS,
                                      .outputs_count = outputs};
    product->matrix.row_bytes = INPUTS / type->block_elements * type->block_bytes;
    cr_assert_eq(team_create(&product->team, threads, &fault), STATUS_OK);
    cr_assert_eq(matmul_create(&product->matmul, product->team, INPUTS, &fault),
                 STATUS_OK);
}

static void product_fini(struct product *product)
{
    matmul_destroy(product->matmul);
    team_destroy(product->team);
    free(product->weights);
}

static void multiply(struct product *product, const float *bias, uint64_t rows,
                     float *output)
{
    struct matmul_job job = {&product->matrix, bias, output};
    matmul_run(product->matmul, &job, 1, &input[0][0], rows);
}

static void check_values(bool tiles)
{
    struct product product;
    static float output[ROWS_MAX + MATMUL_TILE_ROWS][OUTPUTS_MAX];
    static float weight[INPUTS], bias[OUTPUTS_MAX];
    product_init(&product, OUTPUTS_MAX, 2);
    matmul_prepare(product.matmul, &product.matrix);
    product.matrix.tiles_pass = tiles;
    for (uint32_t o = 0; o < OUTPUTS_MAX; o++)
        bias[o] = (float)o;
    fill_input(3);
    multiply(&product, bias, ROWS_MAX, &output[0][0]);
    for (uint32_t o = 0; o < OUTPUTS_MAX; o++) {
        matrix_row(&product.matrix, o, weight);
        for (uint32_t row = 0; row < ROWS_MAX; row++) {
            double right = 0, size = 0;
            for (uint32_t i = 0; i < INPUTS; i++) {
                right += (double)input[row][i] * weight[i];
                size += fabs((double)input[row][i] * weight[i]);
            }
            cr_assert_float_eq(output[row][o], right + o, size * 1e-6 + 1e-4);
        }
    }
    product_fini(&product);
}

Test(matmul, tiles_multiply_right)
{
    check_values(true);
}

Test(matmul, the_fixed_order_kernel_multiplies_right)
{
    check_values(false);
}

/* Each of 33 rows alone, by any number of threads, has the bits it has among the others;
 * also for matrices of less than a panel, of whole panels, and of a cut one. */
static void check_rows_alone(uint64_t outputs, uint32_t threads)
{
    struct product product;
    static float kept[ROWS_MAX + MATMUL_TILE_ROWS][INPUTS];
    static float together[(ROWS_MAX + MATMUL_TILE_ROWS) * OUTPUTS_MAX];
    static float alone[MATMUL_TILE_ROWS * OUTPUTS_MAX];
    product_init(&product, outputs, 1);
    matmul_prepare(product.matmul, &product.matrix);
    fill_input(4);
    memcpy(kept, input, sizeof kept);
    multiply(&product, NULL, ROWS_MAX, together);
    product_fini(&product);
    product_init(&product, outputs, threads);
    matmul_prepare(product.matmul, &product.matrix);
    for (uint32_t row = 0; row < ROWS_MAX; row++) {
        memcpy(input[0], kept[row], sizeof input[0]);
        multiply(&product, NULL, 1, alone);
        cr_assert_arr_eq(alone, together + row * outputs, outputs * sizeof(float));
    }
    product_fini(&product);
}

Test(matmul, a_row_alone_has_the_bits_it_has_among_33)
{
    check_rows_alone(5, 1);
    check_rows_alone(64, 2);
    check_rows_alone(OUTPUTS_MAX, 3);
}

Test(matmul, jobs_of_one_run_are_those_of_runs_of_their_own)
{
    struct product product;
    static float separate[MATMUL_TILE_ROWS * OUTPUTS_MAX];
    static float first[MATMUL_TILE_ROWS * OUTPUTS_MAX], second[MATMUL_TILE_ROWS * 70];
    product_init(&product, OUTPUTS_MAX, 3);
    matmul_prepare(product.matmul, &product.matrix);
    struct matrix part = product.matrix;
    part.outputs_count = 70;
    matmul_prepare(product.matmul, &part);
    fill_input(5);
    struct matmul_job jobs[2] = {{&product.matrix, NULL, first}, {&part, NULL, second}};
    matmul_run(product.matmul, jobs, 2, &input[0][0], 3);
    multiply(&product, NULL, 3, separate);
    cr_assert_arr_eq(first, separate, sizeof(float) * 3 * OUTPUTS_MAX);
    cr_assert_arr_eq(second, separate, sizeof(float) * 64); /* row 0, the whole panel */
    product_fini(&product);
}

/* --- the slot test itself ----------------------------------------------------------- */

static void multiply_in_order(const float *rows, const float *panel, uint64_t panel_rows,
                              uint64_t inputs, float *output, uint64_t stride)
{
    for (uint32_t row = 0; row < MATMUL_TILE_ROWS; row++)
        for (uint64_t o = 0; o < panel_rows; o++) {
            float sum = 0;
            for (uint64_t i = 0; i < inputs; i++)
                sum += rows[row * inputs + i] * panel[o * inputs + i];
            output[row * stride + o] = sum;
        }
}

/* As an edge kernel would: the last slot is summed backwards. */
static void multiply_by_slot(const float *rows, const float *panel, uint64_t panel_rows,
                             uint64_t inputs, float *output, uint64_t stride)
{
    multiply_in_order(rows, panel, panel_rows, inputs, output, stride);
    const float *row = rows + (MATMUL_TILE_ROWS - 1) * inputs;
    for (uint64_t o = 0; o < panel_rows; o++) {
        float sum = 0;
        for (uint64_t i = inputs; i-- > 0;)
            sum += row[i] * panel[o * inputs + i];
        output[(MATMUL_TILE_ROWS - 1) * stride + o] = sum;
    }
}

/* As a kernel that skips zeros would: another order when a neighbour is not zero. */
static void multiply_by_neighbour(const float *rows, const float *panel,
                                  uint64_t panel_rows, uint64_t inputs, float *output,
                                  uint64_t stride)
{
    if (rows[0] != 0.0f && rows[(MATMUL_TILE_ROWS - 1) * inputs] != 0.0f)
        multiply_by_slot(rows, panel, panel_rows, inputs, output, stride);
    else
        multiply_in_order(rows, panel, panel_rows, inputs, output, stride);
}

Test(slot_test, tells_kernels_that_depend_on_slot_or_neighbours)
{
    cr_assert(slot_test(multiply_in_order, 17, 96));
    cr_assert_not(slot_test(multiply_by_slot, 17, 96));
    cr_assert_not(slot_test(multiply_by_neighbour, 17, 96));
}
