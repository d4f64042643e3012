/* slot_test.h - does a row of a tile come out the same in every slot?
 *
 * Layer:   worker/math. Run at start-up, once for each shape in use.
 * Why:     a BLAS may sum a row in another order by its place in the tile (edge kernels),
 *          or let neighbours change which kernel runs. Then a request's output would
 *          depend on its batch mates.
 */
#ifndef ROPEWAY_WORKER_MATH_SLOT_TEST_H
#define ROPEWAY_WORKER_MATH_SLOT_TEST_H

#include <stdbool.h>
#include <stdint.h>

/* output[tile row][o] = sum over i of input[tile row][i] * panel[o][i], for a whole tile;
 * an output row begins output_stride after the one before. */
typedef void slot_multiply(const float *input, const float *panel, uint64_t panel_rows,
                           uint64_t inputs_count, float *output, uint64_t output_stride);

/* Multiplies one row in each of the MATMUL_TILE_ROWS slots, among zeros and among other
 * rows; true when all bits of its results are equal. False also without memory. */
bool slot_test(slot_multiply *multiply, uint64_t panel_rows, uint64_t inputs_count);

#endif
