/* process.h - naming a process so that a reused pid is not taken for it. */
#ifndef ROPEWAY_COMMON_OS_PROCESS_H
#define ROPEWAY_COMMON_OS_PROCESS_H

#include "common/base/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Field 22 of /proc/<pid>/stat, or 0 when there is no such process. */
uint64_t process_start_ticks(pid_t pid);

/* A pidfd of exactly that process, or -1 when it is gone (pid reused or dead). */
int process_open(pid_t pid, uint64_t start_ticks);

/* True once the process behind pidfd has ended. Does not wait. */
bool process_ended(int pidfd);

/* The machine's boot id as text, 36 characters and NUL. */
enum status process_boot_id(char boot_id[40], struct fault *fault);

#endif
