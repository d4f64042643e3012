/* user.h - one user of the closed loop: a connection that carries one request after
 * another.
 *
 * Thread:  the libuv loop's. Connections are kept alive where the server lets them be.
 * Owner:   bench.c allocates users and frees them after the loop has ended.
 */
#ifndef ROPEWAY_TOOLS_BENCH_USER_H
#define ROPEWAY_TOOLS_BENCH_USER_H

#include "tools/bench/answer.h"
#include "tools/bench/options.h"
#include "tools/bench/sse_reader.h"
#include <llhttp.h>
#include <uv.h>

#define DETAIL_BYTES 160

struct user;

/* A socket is not opened again before libuv has let go of it. */
enum user_socket { SOCKET_NONE, SOCKET_CONNECTING, SOCKET_READY, SOCKET_CLOSING };

/* The request in hand has ended; FAILURE_NONE for a success. Called from the loop; may
 * call user_ask or user_close. */
typedef void user_on_end(struct user *user, enum failure failure);

struct user {
    const struct bench_options *options;
    const struct sockaddr *address;
    user_on_end *on_end;
    void *context;
    struct samples *gaps;
    uv_tcp_t socket;
    uv_timer_t timer;
    uv_connect_t connect;
    uv_write_t write;
    struct buffer request;
    llhttp_t http;
    struct sse_reader events;
    struct answer answer;
    uint64_t read_ns; /* when the bytes in hand came */
    enum user_socket state;
    bool asking, writing, message_complete, leaving;
    unsigned http_status;      /* 0: no head yet */
    char detail[DETAIL_BYTES]; /* of a failure, for people */
};

/* The buffers' memory is taken; false when it is out. */
bool user_init(struct user *user, uv_loop_t *loop, const struct bench_options *options,
               const struct sockaddr *address, struct samples *gaps, user_on_end *on_end,
               void *context);
void user_fini(struct user *user);

/* Sends request number `number`. */
void user_ask(struct user *user, uint32_t number);

/* Closes all handles: the loop ends when every user has. on_end is not called. */
void user_close(struct user *user);

#endif
