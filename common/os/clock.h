/* clock.h - the two clocks. Pure parts take time as a parameter instead. */
#ifndef ROPEWAY_COMMON_OS_CLOCK_H
#define ROPEWAY_COMMON_OS_CLOCK_H

#include <stdint.h>

uint64_t clock_monotonic_ns(void); /* CLOCK_MONOTONIC: the same for all local processes */
int64_t clock_unix_s(void);

#endif
