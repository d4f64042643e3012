#include "common/os/link_listener.h"

#include <stdlib.h>
#include <string.h>

/* What a requester says first: SP's magic, version 0, the protocol's number, reserved.
 * (RFC of the SP TCP mapping; 0x30 is REQ of version 0.) */
static const unsigned char greeting[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};

#define LOOK_MS   1000 /* a process that gets no processor for so long is rare */
#define LOOKS_MAX 3
#define GREET_MS  1000

static void rest(struct link_listener *listener, enum link_probe_step step)
{
    listener->step = step;
    nng_aio_set_timeout(listener->aio, NNG_DURATION_INFINITE);
    nng_sleep_aio(LOOK_MS, listener->aio);
}

static void dial(struct link_listener *listener)
{
    listener->step = PROBE_DIALS;
    nng_aio_set_timeout(listener->aio, GREET_MS);
    nng_stream_dialer_dial(listener->dialer, listener->aio);
}

static void greet(struct link_listener *listener)
{
    nng_iov bytes = {.iov_buf = (void *)greeting, .iov_len = sizeof greeting};
    listener->step = PROBE_GREETS;
    listener->stream = nng_aio_get_output(listener->aio, 0);
    nng_aio_set_iov(listener->aio, 1, &bytes);
    nng_stream_send(listener->stream, listener->aio);
}

static void hang_up(struct link_listener *listener)
{
    if (listener->stream)
        nng_stream_free(listener->stream);
    listener->stream = NULL;
}

/* The old one's path is free once it is closed. A failure is tried again by the next
 * probe, which nobody will meet. */
static void replace(struct link_listener *listener)
{
    nng_listener_close(listener->listener);
    nng_listen(listener->socket, listener->url, &listener->listener, 0);
    hang_up(listener);
    rest(listener, PROBE_RESTS);
}

/* Nobody has arrived since the probe greeted. Its connection stays until then: closing it
 * too early is what breaks listeners. */
static void look_again(struct link_listener *listener)
{
    if (++listener->looks_count < LOOKS_MAX)
        rest(listener, PROBE_WAITS);
    else
        replace(listener);
}

/* On a thread of nng's, after each step. */
static void on_step(void *data)
{
    struct link_listener *listener = data;
    if (listener->stopping)
        return;
    uint32_t arrivals_count = listener->arrivals_count;
    bool met = arrivals_count != listener->arrivals_seen;
    listener->arrivals_seen = arrivals_count;
    bool resting = listener->step == PROBE_RESTS || listener->step == PROBE_WAITS;
    if (!resting && nng_aio_result(listener->aio) != 0) {
        replace(listener);
    } else if (met && listener->step != PROBE_DIALS) {
        hang_up(listener);
        rest(listener, PROBE_RESTS);
    } else if (listener->step == PROBE_RESTS) {
        listener->looks_count = 0;
        dial(listener);
    } else if (listener->step == PROBE_DIALS) {
        greet(listener);
    } else if (listener->step == PROBE_GREETS) {
        rest(listener, PROBE_WAITS);
    } else {
        look_again(listener);
    }
}

int link_listener_open(struct link_listener *listener, nng_socket socket, const char *url)
{
    listener->socket = socket;
    listener->url = strdup(url);
    if (listener->url == NULL)
        return NNG_ENOMEM;
    int error = nng_aio_alloc(&listener->aio, on_step, listener);
    if (!error)
        error = nng_stream_dialer_alloc(&listener->dialer, url);
    if (!error)
        error = nng_listen(socket, url, &listener->listener, 0);
    if (!error)
        rest(listener, PROBE_RESTS);
    return error;
}

void link_listener_stop(struct link_listener *listener)
{
    listener->stopping = true;
    if (listener->aio)
        nng_aio_stop(listener->aio);
}

void link_listener_close(struct link_listener *listener)
{
    hang_up(listener);
    if (listener->dialer)
        nng_stream_dialer_free(listener->dialer);
    if (listener->aio)
        nng_aio_free(listener->aio);
    free(listener->url);
}

void link_listener_met(struct link_listener *listener, nng_pipe pipe)
{
    if (nng_listener_id(nng_pipe_listener(pipe)) == nng_listener_id(listener->listener))
        listener->arrivals_count++;
}
