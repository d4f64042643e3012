#include "worker/math/matmul.h"
#include "common/base/invariant.h"
#include "worker/math/quant.h"
#include "worker/math/slot_test.h"
#include "worker/math/vector.h"
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shapes of one model: each matrix has at most two, whole panels and the last one. */
#define SHAPES_MAX 64

#define SCRATCH_ALIGNMENT 64

struct shape {
    uint64_t outputs_count, inputs_count;
    bool passes;
};

struct matmul {
    struct team *team;
    uint64_t inputs_max;
    float *scratch; /* [threads][MATMUL_PANEL_ROWS][inputs_max] */
    uint32_t shapes_count;
    struct shape shapes[SHAPES_MAX];

    /* The run in hand. */
    const struct matmul_job *jobs;
    const float *input;
    uint64_t rows_count;
};

static uint64_t panels_count(const struct matrix *matrix)
{
    return (matrix->outputs_count + MATMUL_PANEL_ROWS - 1) / MATMUL_PANEL_ROWS;
}

static void multiply_tile(const float *input, const float *panel, uint64_t panel_rows,
                          uint64_t inputs_count, float *output, uint64_t output_stride)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, MATMUL_TILE_ROWS,
                (blasint)panel_rows, (blasint)inputs_count, 1.0f, input,
                (blasint)inputs_count, panel, (blasint)inputs_count, 0.0f, output,
                (blasint)output_stride);
}

static void multiply_rows(const float *input, const float *panel, uint64_t panel_rows,
                          uint64_t inputs_count, uint64_t rows_count, float *output,
                          uint64_t output_stride)
{
    for (uint64_t row = 0; row < rows_count; row++)
        for (uint64_t o = 0; o < panel_rows; o++)
            output[row * output_stride + o] = vector_dot(
                input + row * inputs_count, panel + o * inputs_count, inputs_count);
}

static void add_bias(const float *bias, uint64_t panel_rows, uint64_t rows_count,
                     float *output, uint64_t output_stride)
{
    for (uint64_t row = 0; row < rows_count; row++)
        vector_add(output + row * output_stride, bias, panel_rows);
}

static void run_panel(const struct matmul *matmul, const struct matmul_job *job,
                      uint64_t first, float *scratch)
{
    const struct matrix *matrix = job->matrix;
    uint64_t inputs = matrix->inputs_count, stride = matrix->outputs_count;
    uint64_t left = matrix->outputs_count - first;
    uint64_t panel_rows = left < MATMUL_PANEL_ROWS ? left : MATMUL_PANEL_ROWS;
    quant_dequantize(matrix->type, (const char *)matrix->data + first * matrix->row_bytes,
                     panel_rows * inputs, scratch);
    float *output = job->output + first;
    if (matrix->tiles_pass)
        for (uint64_t row = 0; row < matmul->rows_count; row += MATMUL_TILE_ROWS)
            multiply_tile(matmul->input + row * inputs, scratch, panel_rows, inputs,
                          output + row * stride, stride);
    else
        multiply_rows(matmul->input, scratch, panel_rows, inputs, matmul->rows_count,
                      output, stride);
    if (job->bias != NULL)
        add_bias(job->bias + first, panel_rows, matmul->rows_count, output, stride);
}

/* A chunk is a panel; the panels of all jobs are numbered one after another. */
static void run_chunk(void *context, uint32_t chunk, uint32_t thread)
{
    const struct matmul *matmul = context;
    const struct matmul_job *job = matmul->jobs;
    uint64_t panel = chunk;
    while (panel >= panels_count(job->matrix)) {
        panel -= panels_count(job->matrix);
        job++;
    }
    float *scratch = matmul->scratch + thread * matmul->inputs_max * MATMUL_PANEL_ROWS;
    run_panel(matmul, job, panel * MATMUL_PANEL_ROWS, scratch);
}

void matmul_run(struct matmul *matmul, const struct matmul_job *jobs, uint32_t jobs_count,
                float *input, uint64_t rows_count)
{
    uint64_t inputs = jobs[0].matrix->inputs_count;
    uint64_t chunks_count = 0;
    for (uint32_t i = 0; i < jobs_count; i++) {
        INVARIANT(jobs[i].matrix->inputs_count == inputs && inputs <= matmul->inputs_max);
        chunks_count += panels_count(jobs[i].matrix);
    }
    memset(input + rows_count * inputs, 0,
           (matmul_padded_rows(rows_count) - rows_count) * inputs * sizeof *input);
    matmul->jobs = jobs;
    matmul->input = input;
    matmul->rows_count = rows_count;
    team_run(matmul->team, (uint32_t)chunks_count, run_chunk, matmul);
}

static bool shape_passes(struct matmul *matmul, uint64_t outputs, uint64_t inputs)
{
    for (uint32_t i = 0; i < matmul->shapes_count; i++) {
        const struct shape *known = &matmul->shapes[i];
        if (known->outputs_count == outputs && known->inputs_count == inputs)
            return known->passes;
    }
    bool passes = slot_test(multiply_tile, outputs, inputs);
    if (matmul->shapes_count < SHAPES_MAX)
        matmul->shapes[matmul->shapes_count++] = (struct shape){outputs, inputs, passes};
    return passes;
}

bool matmul_prepare(struct matmul *matmul, struct matrix *matrix)
{
    uint64_t last = matrix->outputs_count % MATMUL_PANEL_ROWS;
    matrix->tiles_pass =
        (last == 0 || shape_passes(matmul, last, matrix->inputs_count)) &&
        (matrix->outputs_count < MATMUL_PANEL_ROWS ||
         shape_passes(matmul, MATMUL_PANEL_ROWS, matrix->inputs_count));
    return matrix->tiles_pass;
}

void matrix_row(const struct matrix *matrix, uint64_t row, float *out)
{
    quant_dequantize(matrix->type, (const char *)matrix->data + row * matrix->row_bytes,
                     matrix->inputs_count, out);
}

const char *matmul_library(void)
{
    static char name[32];
    snprintf(name, sizeof name, "OpenBLAS %s", openblas_get_corename());
    return name;
}

enum status matmul_create(struct matmul **out, struct team *team, uint64_t inputs_max,
                          struct fault *fault)
{
    struct matmul *matmul = calloc(1, sizeof *matmul);
    size_t panel_bytes = MATMUL_PANEL_ROWS * inputs_max * sizeof(float);
    float *scratch =
        aligned_alloc(SCRATCH_ALIGNMENT, team_threads_count(team) * panel_bytes);
    if (matmul == NULL || scratch == NULL) {
        free(scratch);
        free(matmul);
        return fault_set(fault, STATUS_NO_SPACE, NULL,
                         "no memory for %u threads' panels of %zu bytes",
                         team_threads_count(team), panel_bytes);
    }
    openblas_set_num_threads(1); /* the team splits the work, not BLAS */
    matmul->team = team;
    matmul->inputs_max = inputs_max;
    matmul->scratch = scratch;
    *out = matmul;
    return STATUS_OK;
}

void matmul_destroy(struct matmul *matmul)
{
    if (matmul == NULL)
        return;
    free(matmul->scratch);
    free(matmul);
}
