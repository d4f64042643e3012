/* float_environment.h - the rounding rules under which equal programs give equal bits.
 *
 * Layer:   worker/math (pure).
 * Rule:    round to nearest even, and denormal numbers kept: neither flushed to zero as
 *          results (FTZ) nor read as zero (DAZ). A library loaded into the process may
 *          have changed that, so each computing thread sets it and then checks it.
 */
#ifndef ROPEWAY_WORKER_MATH_FLOAT_ENVIRONMENT_H
#define ROPEWAY_WORKER_MATH_FLOAT_ENVIRONMENT_H

#include <stdbool.h>

/* Sets the rules for the calling thread; INVARIANT that they hold afterwards. */
void float_environment_set(void);

/* Whether the calling thread computes under the rules: by computing, not by reading
 * control bits. */
bool float_environment_right(void);

#endif
