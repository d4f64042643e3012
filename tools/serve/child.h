/* child.h - one process of the service: how it is started, watched and ended.
 *
 * Start:   fork and exec at once; the supervisor is one thread and never uses nng, so a
 *          fork is safe here. A child dies with the supervisor (PR_SET_PDEATHSIG), has a
 *          process group of its own (a terminal's Ctrl-C reaches the supervisor alone, so
 *          that streams are drained), reads nothing and inherits no descriptor but
 *          stdout, stderr and the lock that shows that it lives (instance_lock.h). What
 *          systemd says to the supervisor is kept from it.
 * Restart: at once after a good while of life, then after growing pauses.
 */
#ifndef ROPEWAY_TOOLS_SERVE_CHILD_H
#define ROPEWAY_TOOLS_SERVE_CHILD_H

#include "common/os/config.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
    const char *name; /* of its executable */
    enum config_program program;
    pid_t pid; /* 0: does not run */
    uint64_t started_ns;
    uint64_t start_at_ns;  /* when it may be started again */
    uint32_t deaths_count; /* in a row */
};

/* Pause before the start that follows so many short lives in a row. */
uint64_t child_pause_ns(uint32_t deaths_count);

/* Starts it from the folder that this program lies in. */
enum status child_start(struct child *child, const struct config *config, uint64_t now_ns,
                        struct fault *fault);

/* True when it has just ended; then *wait_status is waitpid's and start_at_ns is set. */
bool child_ended(struct child *child, uint64_t now_ns, int *wait_status);

/* Nothing when it does not run. */
void child_signal(const struct child *child, int signal_number);

#endif
