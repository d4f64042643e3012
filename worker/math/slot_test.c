#include "worker/math/slot_test.h"
#include "common/base/rng.h"
#include "worker/math/matmul.h"
#include <stdlib.h>
#include <string.h>

/* Any seed will do; a fixed one makes a failure repeatable. */
#define SEED 20260u

struct trial {
    float *panel;    /* [panel_rows][inputs] */
    float *row;      /* [inputs]: the one that is watched */
    float *input;    /* [tile][inputs] */
    float *output;   /* [tile][panel_rows] */
    float *expected; /* [panel_rows] */
};

static void fill(float *values, uint64_t count, uint32_t stream)
{
    for (uint64_t i = 0; i < count; i++)
        values[i] = rng_uniform(SEED, stream, (uint32_t)i, 0) - 0.5f;
}

static bool slot_agrees(slot_multiply *multiply, const struct trial *trial,
                        uint64_t panel_rows, uint64_t inputs, uint64_t slot,
                        bool is_first)
{
    memcpy(trial->input + slot * inputs, trial->row, inputs * sizeof(float));
    multiply(trial->input, trial->panel, panel_rows, inputs, trial->output, panel_rows);
    const float *result = trial->output + slot * panel_rows;
    if (is_first)
        memcpy(trial->expected, result, panel_rows * sizeof(float));
    return memcmp(trial->expected, result, panel_rows * sizeof(float)) == 0;
}

static bool all_slots_agree(slot_multiply *multiply, const struct trial *trial,
                            uint64_t panel_rows, uint64_t inputs)
{
    fill(trial->panel, panel_rows * inputs, 0);
    fill(trial->row, inputs, 1);
    for (uint64_t slot = 0; slot < MATMUL_TILE_ROWS; slot++) {
        memset(trial->input, 0, MATMUL_TILE_ROWS * inputs * sizeof(float));
        if (!slot_agrees(multiply, trial, panel_rows, inputs, slot, slot == 0))
            return false;
        fill(trial->input, MATMUL_TILE_ROWS * inputs, 2 + (uint32_t)slot);
        if (!slot_agrees(multiply, trial, panel_rows, inputs, slot, false))
            return false;
    }
    return true;
}

bool slot_test(slot_multiply *multiply, uint64_t panel_rows, uint64_t inputs_count)
{
    uint64_t floats = panel_rows * inputs_count + inputs_count +
                      MATMUL_TILE_ROWS * (inputs_count + panel_rows) + panel_rows;
    float *memory = malloc(floats * sizeof *memory);
    if (memory == NULL)
        return false;
    struct trial trial = {.panel = memory};
    trial.row = trial.panel + panel_rows * inputs_count;
    trial.input = trial.row + inputs_count;
    trial.output = trial.input + MATMUL_TILE_ROWS * inputs_count;
    trial.expected = trial.output + MATMUL_TILE_ROWS * panel_rows;
    bool passes = all_slots_agree(multiply, &trial, panel_rows, inputs_count);
    free(memory);
    return passes;
}
