/* step_driver.h - a scheduler's least part, for tests: records, blocks and steps in
 * segments on the heap, and an engine run over them.
 *
 * Blocks of a sequence are given out scattered, so that nothing rests on their order.
 */
#ifndef ROPEWAY_TESTS_WORKER_STEP_DRIVER_H
#define ROPEWAY_TESTS_WORKER_STEP_DRIVER_H

#include "worker/model/engine.h"

#define DRIVER_RECORDS_MAX 40

struct step_driver {
    struct engine *engine;
    void *control_memory;
    unsigned char *kv;
    struct control control;
    struct step_view step, previous;
    uint32_t steps_run;
    uint32_t records_count;
    uint32_t pages_used;
    uint32_t blocks_used;
};

struct driver_options {
    uint32_t block_size;
    uint32_t kv_element_bytes;
    uint32_t tokens_max; /* of one sequence */
    uint32_t rows_max, sequences_max;
};

void driver_init(struct step_driver *driver, struct engine *engine,
                 const struct driver_options *options);
void driver_fini(struct step_driver *driver);

/* A record with its prompt and all the blocks it will need; its number. */
uint32_t driver_add_record(struct step_driver *driver, const uint32_t *prompt,
                           uint32_t prompt_count, const struct sampling *sampling);

/* The batch: begin, add sequences, run. Each runs the record's next rows_count tokens,
 * and samples when they are its last. */
void driver_begin(struct step_driver *driver);
void driver_add_rows(struct step_driver *driver, uint32_t record, uint32_t rows_count);
/* A decode whose token the step before has sampled but nobody has committed yet: its
 * sequence there. */
void driver_add_uncommitted(struct step_driver *driver, uint32_t record,
                            uint32_t previous_sequence);
void driver_run(struct step_driver *driver);
/* Appends the results of the step run last; a failed sequence gets none. */
void driver_commit(struct step_driver *driver);

struct extent driver_extent(const struct step_driver *driver, uint32_t record);

/* The bytes of a position's K or V row in the pool. */
unsigned char *driver_kv_row(const struct step_driver *driver, uint32_t record,
                             uint32_t layer, uint32_t is_v, uint32_t position,
                             size_t *row_bytes);

#endif
