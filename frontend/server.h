/* server.h - what the parts of the frontend share. */
#ifndef ROPEWAY_FRONTEND_SERVER_H
#define ROPEWAY_FRONTEND_SERVER_H

#include "common/os/config.h"
#include "frontend/core/frontend_metrics.h"
#include <uv.h>

struct connection;
struct door;
struct job_table;
struct text_model;
struct uplink;

#define SERVER_READ_BYTES 65536 /* of a connection at once: others wait meanwhile */
/* 128 choices of 2,000 tokens with five logprobs are about 200 MB; beyond, an error. */
#define SERVER_ANSWER_BYTES_MAX (256u << 20)
#define SERVER_MODEL_BYTES      256

struct server {
    const struct config *config;
    uv_loop_t *loop;
    struct text_model *model;
    struct uplink *uplink;
    struct door *door;
    struct job_table *jobs;
    struct frontend_metrics metrics;

    char model_name[SERVER_MODEL_BYTES];
    int64_t started_unix_s;
    unsigned char api_key_digest[32]; /* of the key that clients must show */
    bool draining; /* no new connections; open ones end when answered */

    struct connection *connections;
    uint32_t connections_count;
    char read_buffer[SERVER_READ_BYTES]; /* of whichever connection is being read */
};

/* The loop has no means to be woken: error is libuv's. */
static inline enum status server_no_wake(int error, struct fault *fault)
{
    return fault_set(fault, STATUS_IO, NULL,
                     "The event loop cannot be woken by signals and messages: %s.",
                     uv_strerror(error));
}

#endif
