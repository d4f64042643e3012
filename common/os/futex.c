#include "common/os/futex.h"

#include "common/base/time_units.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel looks at the word's 32 bits; none of the flags says private, since the
 * sleepers of a bell live in other processes. */
static long futex(_Atomic uint32_t *word, int operation, uint32_t value,
                  const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

bool futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / NS_PER_S),
                               .tv_nsec = (long)(timeout_ns % NS_PER_S)};
    long result =
        futex(word, FUTEX_WAIT, seen, timeout_ns == UINT64_MAX ? NULL : &timeout);
    return result == 0 || errno != ETIMEDOUT;
}

void futex_wake(_Atomic uint32_t *word)
{
    futex(word, FUTEX_WAKE, INT_MAX, NULL);
}

void futex_ring(_Atomic uint32_t *bell)
{
    atomic_fetch_add(bell, 1);
    futex_wake(bell);
}
