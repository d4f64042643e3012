#include "tools/serve/instance_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* The kernel ends a killed process and frees its memory within this time. */
#define DYING_LOOKS   200
#define DYING_LOOK_NS 10000000

/* The descriptor of a lock file, or -1. */
static int open_lock(const struct config *config, const char *file, int flags)
{
    char path[CONFIG_PATH_BYTES];
    config_path(config, file, path);
    return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | flags, 0600);
}

/* Whoever lives on after that says itself what is wrong when its successor starts. */
static void wait_for_dying_children(int lock)
{
    struct timespec pause = {.tv_nsec = DYING_LOOK_NS};
    for (int look = 0; look < DYING_LOOKS; look++) {
        if (flock(lock, LOCK_EX | LOCK_NB) == 0)
            return;
        nanosleep(&pause, NULL);
    }
}

enum status instance_lock_take(const struct config *config, struct instance_lock *lock,
                               struct fault *fault)
{
    lock->serve = open_lock(config, "serve.lock", O_CLOEXEC);
    if (lock->serve < 0)
        return fault_set(fault, STATUS_IO, "runtime-dir",
                         "--runtime-dir %s: cannot open serve.lock in it: %s",
                         config->runtime_dir, strerror(errno));
    if (flock(lock->serve, LOCK_EX | LOCK_NB) != 0) {
        close(lock->serve);
        return fault_set(fault, STATUS_CONFLICT, "instance",
                         "another `ropeway serve` runs instance '%s' in %s: stop it or "
                         "give another --instance",
                         config->instance, config->runtime_dir);
    }
    lock->children = open_lock(config, "children.lock", 0);
    if (lock->children < 0) {
        close(lock->serve);
        return fault_set(fault, STATUS_IO, "runtime-dir",
                         "--runtime-dir %s: cannot open children.lock in it: %s",
                         config->runtime_dir, strerror(errno));
    }
    wait_for_dying_children(lock->children);
    return STATUS_OK;
}

void instance_lock_release(struct instance_lock *lock)
{
    close(lock->children);
    close(lock->serve);
}
