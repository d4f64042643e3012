/* preflight.h - what can be known to be wrong before anything is started. */
#ifndef ROPEWAY_TOOLS_SERVE_PREFLIGHT_H
#define ROPEWAY_TOOLS_SERVE_PREFLIGHT_H

#include "common/os/config.h"

/* The model's file is whole and one that we compute; the geometry fits it; the KV cache
 * fits /dev/shm and the machine's memory; the port is free. One sentence names what is
 * wrong. */
enum status preflight(const struct config *config, struct fault *fault);

#endif
