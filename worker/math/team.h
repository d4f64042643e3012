/* team.h - threads that stay, and share out the chunks of one job at a time.
 *
 * Layer:    worker/math (needs common/os for the futex).
 * Rule:     chunks are handed out as threads come for them, so what a chunk writes must
 *           not depend on who computes it. The caller is one of the threads.
 * Waiting:  a short spin, then a futex; no spin where the team has more threads than the
 *           process has processors, since there spinning keeps the work from its
 *           processor.
 * Memory:   none after team_create.
 */
#ifndef ROPEWAY_WORKER_MATH_TEAM_H
#define ROPEWAY_WORKER_MATH_TEAM_H

#include "common/base/status.h"
#include <stdint.h>

#define TEAM_THREADS_MAX 256 /* processors of a large machine's one memory */

struct team;

/* thread is below threads_count: the index of a thread's scratch. */
typedef void team_work(void *context, uint32_t chunk, uint32_t thread);

/* One thread for each processor that this process may use, TEAM_THREADS_MAX at most. */
uint32_t team_threads_default(void);

/* Starts threads_count - 1 threads, 1 <= threads_count <= TEAM_THREADS_MAX. */
enum status team_create(struct team **team, uint32_t threads_count, struct fault *fault);
void team_destroy(struct team *team);

uint32_t team_threads_count(const struct team *team);

/* Runs work for every chunk below chunks_count, and returns when all are done; one chunk
 * is run by the caller alone. All that was written before the call is seen by every
 * chunk, all that the chunks wrote by the caller afterwards. */
void team_run(struct team *team, uint32_t chunks_count, team_work *work, void *context);

#endif
