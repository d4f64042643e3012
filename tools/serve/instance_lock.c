#include "tools/serve/instance_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* The kernel ends a killed scheduler and frees its memory within this time. */
#define DYING_LOOKS   200
#define DYING_LOOK_NS 10000000

/* The descriptor of a lock file, or -1. */
static int open_lock(const struct config *config, const char *name)
{
    char path[CONFIG_TEXT_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s.lock", config->runtime_dir, name);
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* If it lives on after that, it says itself what is wrong when ours starts. */
static void wait_for_dying_scheduler(const struct config *config)
{
    struct timespec pause = {.tv_nsec = DYING_LOOK_NS};
    int lock = open_lock(config, "scheduler");
    if (lock < 0)
        return;
    for (int look = 0; look < DYING_LOOKS; look++) {
        if (flock(lock, LOCK_EX | LOCK_NB) == 0)
            break;
        nanosleep(&pause, NULL);
    }
    close(lock);
}

enum status instance_lock_take(const struct config *config, int *lock,
                               struct fault *fault)
{
    int file = open_lock(config, "serve");
    if (file < 0)
        return fault_set(fault, STATUS_IO, "runtime-dir",
                         "--runtime-dir %s: cannot open serve.lock in it: %s",
                         config->runtime_dir, strerror(errno));
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        close(file);
        return fault_set(fault, STATUS_CONFLICT, "instance",
                         "another `ropeway serve` runs instance '%s' in %s: stop it or "
                         "give another --instance",
                         config->instance, config->runtime_dir);
    }
    wait_for_dying_scheduler(config);
    *lock = file;
    return STATUS_OK;
}
