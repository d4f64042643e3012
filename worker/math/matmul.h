/* matmul.h - activations times weights of any GGUF type, each row by itself.
 *
 * Layer:   worker/math (OpenBLAS for the tiles).
 * How:     the outputs of a matrix are cut into panels of MATMUL_PANEL_ROWS at fixed
 *          places. A thread takes a panel, dequantises it into scratch of its own and
 *          multiplies it with the activations, MATMUL_TILE_ROWS rows at a time, by a
 *          single-threaded sgemm. A tile is always whole: missing rows are zeros.
 * Bytes:   a row's result must not depend on its slot in the tile nor on its neighbours.
 *          BLAS does not promise that, so matmul_prepare tests each shape it is given;
 *          a shape that fails is computed by vector_dot instead, slower and always right.
 * Thread:  the caller of the team only.
 */
#ifndef ROPEWAY_WORKER_MATH_MATMUL_H
#define ROPEWAY_WORKER_MATH_MATMUL_H

#include "worker/math/team.h"
#include <stdbool.h>

/* Larger tiles were measured to depend on the slot, on Haswell and Zen cores. */
#define MATMUL_TILE_ROWS 8

/* 64 rows of 1536 inputs are 384 KiB of scratch: within a second-level cache. */
#define MATMUL_PANEL_ROWS 64

/* Rows that activations must have room for. */
static inline uint64_t matmul_padded_rows(uint64_t rows_count)
{
    return (rows_count + MATMUL_TILE_ROWS - 1) / MATMUL_TILE_ROWS * MATMUL_TILE_ROWS;
}

/* Weights as they lie in the file: outputs_count rows of inputs_count elements. */
struct matrix {
    const void *data;
    uint32_t type; /* enum gguf_tensor_type */
    uint64_t inputs_count;
    uint64_t outputs_count;
    uint64_t row_bytes;
    bool tiles_pass; /* by matmul_prepare */
};

/* One product of a run: output[row][o] = sum of input[row][i] * matrix[o][i], + bias[o].
 */
struct matmul_job {
    const struct matrix *matrix;
    const float *bias; /* [outputs_count], or NULL */
    float *output;     /* [matmul_padded_rows(rows)][outputs_count] */
};

struct matmul;

/* inputs_max is the longest row of any matrix to come: it sizes the scratch. */
enum status matmul_create(struct matmul **matmul, struct team *team, uint64_t inputs_max,
                          struct fault *fault);
void matmul_destroy(struct matmul *matmul);

/* Slot-tests the matrix's shapes, or remembers the result, and sets tiles_pass. Returns
 * it. */
bool matmul_prepare(struct matmul *matmul, struct matrix *matrix);

/* All products of one input. input is [matmul_padded_rows(rows_count)][inputs_count]; the
 * rows past rows_count are set to zero here, and the outputs' are of no meaning. */
void matmul_run(struct matmul *matmul, const struct matmul_job *jobs, uint32_t jobs_count,
                float *input, uint64_t rows_count);

/* Dequantises one row of weights: an embedding. */
void matrix_row(const struct matrix *matrix, uint64_t row, float *out);

/* "OpenBLAS Haswell" */
const char *matmul_library(void);

#endif
