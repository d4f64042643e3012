/* geometry.h - how large an instance's shared memory is: from the configuration and the
 * model's numbers.
 *
 * Why here: `ropeway serve` asks before it starts anything, the scheduler when it does.
 */
#ifndef ROPEWAY_SCHEDULER_GEOMETRY_H
#define ROPEWAY_SCHEDULER_GEOMETRY_H

#include "common/gguf/model_shape.h"
#include "common/os/config.h"
#include "proto/kv_layout.h"

/* STATUS_INVALID with one sentence for people: which option, its value, what would do. */
enum status geometry_plan(const struct config *config, const struct model_shape *shape,
                          struct geometry *geometry, struct fault *fault);

#endif
