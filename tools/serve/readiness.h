/* readiness.h - whether a client's request would be served now, seen from outside. */
#ifndef ROPEWAY_TOOLS_SERVE_READINESS_H
#define ROPEWAY_TOOLS_SERVE_READINESS_H

#include "common/os/config.h"
#include <stdbool.h>
#include <stdint.h>

struct readiness {
    uint32_t slots_count, blocks_count, block_size;
};

/* The port in <runtime dir>/frontend.port, where the frontend writes it once it listens;
 * 0 when there is none yet. */
uint32_t readiness_port(const struct config *config);

/* So that a port read later is the next frontend's. */
void readiness_forget_port(const struct config *config);

/* GET /health on the loopback answers 200: scheduler and worker are there. Waits a
 * fraction of a second at most. */
bool readiness_healthy(const struct config *config, uint32_t port);

/* The numbers of the control segment; false when it cannot be read. */
bool readiness_read(const struct config *config, struct readiness *readiness);

#endif
