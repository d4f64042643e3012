#include "frontend/listener.h"

#include "common/os/log.h"
#include "frontend/connection.h"
#include "frontend/server.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#define BACKLOG 511 /* what the kernel keeps for us while we are busy */

struct listener {
    uv_tcp_t tcp;
    struct server *server;
};

static void on_connection(uv_stream_t *stream, int error)
{
    struct listener *listener = stream->data;
    if (error)
        log_warn("a connection could not be taken: %s", uv_strerror(error));
    else
        connection_accept(listener->server, stream);
}

static enum status bind_address(struct listener *listener, const struct addrinfo *address,
                                uint32_t *port, struct fault *fault)
{
    const struct config *config = listener->server->config;
    struct sockaddr_storage bound;
    int size = sizeof bound;
    int error = uv_tcp_bind(&listener->tcp, address->ai_addr, 0);
    if (!error)
        error = uv_listen((uv_stream_t *)&listener->tcp, BACKLOG, on_connection);
    if (!error)
        error = uv_tcp_getsockname(&listener->tcp, (struct sockaddr *)&bound, &size);
    if (error)
        return fault_set(
            fault, STATUS_IO, "port",
            "Cannot listen on %s port %u: %s; choose another --host or --port.",
            config->host, config->port, uv_strerror(error));
    *port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                              : ((struct sockaddr_in *)&bound)->sin_port);
    return STATUS_OK;
}

enum status listener_open(struct listener **out, struct server *server, uint32_t *port,
                          struct fault *fault)
{
    char service[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *address;
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "There is no memory to start.");
    listener->server = server;
    listener->tcp.data = listener;
    uv_tcp_init(server->loop, &listener->tcp);
    *out = listener;
    snprintf(service, sizeof service, "%u", server->config->port);
    int error = getaddrinfo(server->config->host, service, &hints, &address);
    if (error)
        return fault_set(fault, STATUS_INVALID, "host", "Cannot find the host '%s': %s.",
                         server->config->host, gai_strerror(error));
    enum status status = bind_address(listener, address, port, fault);
    freeaddrinfo(address);
    return status;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void listener_close(struct listener *listener)
{
    uv_close((uv_handle_t *)&listener->tcp, on_closed);
}
