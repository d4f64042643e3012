#include "common/os/link_dialer.h"

#include <stdlib.h>
#include <string.h>

/* nng's own pauses: a peer that restarts is found again soon, and one that stays away
 * costs little. */
#define RECONNECT_FIRST_MS 20
#define RECONNECT_MOST_MS  500

/* How often we look: a dialer that works has tried again within this time. */
#define LOOK_MS 500

static int dial(struct link_dialer *dialer)
{
    return nng_dial(dialer->socket, dialer->url, &dialer->dialer, NNG_FLAG_NONBLOCK);
}

/* On a thread of nng's, after each pause. */
static void on_look(void *data)
{
    struct link_dialer *dialer = data;
    int result = nng_aio_result(dialer->watch);
    if (result == NNG_ECANCELED || result == NNG_ECLOSED)
        return;
    bool was_connected = dialer->connected;
    dialer->connected = dialer->pipes_count > 0;
    if (!dialer->connected && !was_connected) {
        nng_dialer_close(dialer->dialer);
        /* A failure is tried again at the next look. */
        dial(dialer);
    }
    nng_sleep_aio(LOOK_MS, dialer->watch);
}

int link_dialer_open(struct link_dialer *dialer, nng_socket socket, const char *url)
{
    dialer->socket = socket;
    dialer->connected = true; /* so that the first look lets it go on trying */
    dialer->url = strdup(url);
    if (dialer->url == NULL)
        return NNG_ENOMEM;
    int error = nng_aio_alloc(&dialer->watch, on_look, dialer);
    if (!error)
        error = nng_socket_set_ms(socket, NNG_OPT_RECONNMINT, RECONNECT_FIRST_MS);
    if (!error)
        error = nng_socket_set_ms(socket, NNG_OPT_RECONNMAXT, RECONNECT_MOST_MS);
    if (!error)
        error = dial(dialer);
    if (!error)
        nng_sleep_aio(LOOK_MS, dialer->watch);
    return error;
}

void link_dialer_stop(struct link_dialer *dialer)
{
    if (dialer->watch)
        nng_aio_stop(dialer->watch);
}

void link_dialer_close(struct link_dialer *dialer)
{
    if (dialer->watch)
        nng_aio_free(dialer->watch);
    free(dialer->url);
    dialer->watch = NULL;
    dialer->url = NULL;
}

void link_dialer_gained(struct link_dialer *dialer)
{
    dialer->pipes_count++;
}

void link_dialer_lost(struct link_dialer *dialer)
{
    dialer->pipes_count--;
}
