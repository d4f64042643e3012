/* futex.h - sleeping on a word of shared memory, across processes. */
#ifndef ROPEWAY_COMMON_OS_FUTEX_H
#define ROPEWAY_COMMON_OS_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sleeps while *word == seen, at most timeout_ns (UINT64_MAX: for ever). True when woken
 * or the word had changed already; false on time-out. May wake early: look again. */
bool futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns);

/* Wakes every sleeper on word, in any process. */
void futex_wake(_Atomic uint32_t *word);

/* Adds 1 to a bell and wakes its sleepers: what a bell's reader saw before is then old.
 */
void futex_ring(_Atomic uint32_t *bell);

#endif
