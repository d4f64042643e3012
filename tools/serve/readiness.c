#include "tools/serve/readiness.h"

#include "common/os/shm_region.h"
#include "proto/kv_layout.h"
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* A frontend that lives answers /health from memory; one that does not is asked again. */
#define HEALTH_TIMEOUT_US 300000

#define PORT_MAX 65535

uint32_t readiness_port(const struct config *config)
{
    char path[CONFIG_PATH_BYTES], text[16] = "", *end;
    config_path(config, CONFIG_PORT_FILE, path);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    const char *line = fgets(text, sizeof text, file);
    fclose(file);
    if (line == NULL)
        return 0;
    unsigned long port = strtoul(text, &end, 10);
    return *end == '\n' && port <= PORT_MAX ? (uint32_t)port : 0;
}

void readiness_forget_port(const struct config *config)
{
    char path[CONFIG_PATH_BYTES];
    config_path(config, CONFIG_PORT_FILE, path);
    unlink(path);
}

/* A connected socket with short timeouts, or -1. */
static int connect_to(const char *host, uint32_t port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    struct timeval timeout = {.tv_usec = HEALTH_TIMEOUT_US};
    char service[16];
    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return -1;
    int file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file >= 0) {
        setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
        if (connect(file, found->ai_addr, found->ai_addrlen) != 0) {
            close(file);
            file = -1;
        }
    }
    freeaddrinfo(found);
    return file;
}

bool readiness_healthy(const struct config *config, uint32_t port)
{
    static const char request[] =
        "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    static const char wanted[] = "HTTP/1.1 200 ";
    char reply[sizeof wanted] = "";
    int file = connect_to(config->host, port);
    if (file < 0)
        return false;
    bool healthy =
        send(file, request, sizeof request - 1, MSG_NOSIGNAL) == sizeof request - 1 &&
        recv(file, reply, sizeof wanted - 1, MSG_WAITALL) == sizeof wanted - 1 &&
        strcmp(reply, wanted) == 0;
    close(file);
    return healthy;
}

bool readiness_read(const struct config *config, struct readiness *readiness)
{
    char name[SHM_NAME_BYTES];
    struct shm_region region;
    struct control control;
    struct fault fault;
    shm_region_name(name, config->instance, LAYOUT_CONTROL_PART);
    if (shm_region_open(&region, name, &fault) != STATUS_OK)
        return false;
    bool readable =
        layout_view(region.base, region.size_bytes, &control, &fault) == STATUS_OK;
    if (readable) {
        const struct geometry *geometry = &control.header->geometry;
        *readiness = (struct readiness){geometry->step_sequences_max,
                                        geometry->blocks_count, geometry->block_size};
    }
    shm_region_close(&region);
    return readable;
}
