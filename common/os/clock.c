#include "common/os/clock.h"

#include "common/base/time_units.h"
#include <time.h>

uint64_t clock_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

int64_t clock_unix_s(void)
{
    return (int64_t)time(NULL);
}
