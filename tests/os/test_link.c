/* Own main and not Criterion, which exports nanomsg's symbols as nng does. */
#include "common/os/futex.h"
#include "common/os/link.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CONTEXTS_COUNT    16
#define REQUESTS_COUNT    1000
#define RESTARTS_COUNT    100
#define MESSAGE_BYTES_MAX 4096
#define DEADLINE_NS       10000000000ull

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);      \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

static _Atomic uint32_t bell;

static void ring(void *data)
{
    (void)data;
    futex_ring(&bell);
}

static char url[100]; /* its path fits a socket address */

static struct link_server *open_server(uint32_t contexts_count)
{
    struct link_server *server = NULL;
    struct fault fault;
    CHECK(link_server_open(&server, url, contexts_count, MESSAGE_BYTES_MAX, ring, NULL,
                           &fault) == STATUS_OK);
    return server;
}

static struct link_client *open_client(uint32_t contexts_count, uint32_t timeout_ms)
{
    struct link_client *client = NULL;
    struct fault fault;
    CHECK(link_client_open(&client, url, contexts_count, MESSAGE_BYTES_MAX, timeout_ms,
                           ring, NULL, &fault) == STATUS_OK);
    return client;
}

/* Answers every waiting request with its own bytes. */
static void echo(struct link_server *server)
{
    struct link_request request;
    while (link_server_next(server, &request)) {
        char bytes[MESSAGE_BYTES_MAX];
        memcpy(bytes, request.bytes.data, request.bytes.size);
        link_server_reply(server, request.context,
                          (struct span){bytes, request.bytes.size});
    }
}

static void a_thousand_requests_get_their_own_replies(void)
{
    struct link_server *server = open_server(CONTEXTS_COUNT / 2);
    struct link_client *client = open_client(CONTEXTS_COUNT, 5000);
    uint64_t sent = 0, answered = 0;
    while (answered < REQUESTS_COUNT) {
        uint32_t seen = bell;
        uint64_t answered_before = answered;
        struct link_reply reply;
        while (sent < REQUESTS_COUNT &&
               link_client_send(client, (struct span){(char *)&sent, sizeof sent}, sent))
            sent++;
        echo(server);
        while (link_client_next(client, &reply)) {
            CHECK(reply.status == STATUS_OK && reply.bytes.size == sizeof reply.tag);
            CHECK(memcmp(reply.bytes.data, &reply.tag, sizeof reply.tag) == 0);
            link_client_release(client, &reply);
            answered++;
        }
        CHECK(answered > answered_before || futex_wait(&bell, seen, DEADLINE_NS));
    }
    link_client_close(client);
    link_server_close(server);
}

static void contexts_are_bounded_and_a_silent_peer_times_out(void)
{
    struct link_server *server = open_server(2);
    struct link_client *client = open_client(2, 100);
    char large[MESSAGE_BYTES_MAX + 1] = {0};
    CHECK(!link_client_send(client, (struct span){large, sizeof large}, 0));
    CHECK(link_client_send(client, SPAN_LITERAL("a"), 1));
    CHECK(link_client_send(client, SPAN_LITERAL("b"), 2));
    CHECK(!link_client_send(client, SPAN_LITERAL("c"), 3));
    for (int replies = 0; replies < 2;) {
        uint32_t seen = bell;
        struct link_reply reply;
        if (!link_client_next(client, &reply)) {
            CHECK(futex_wait(&bell, seen, DEADLINE_NS));
            continue;
        }
        CHECK(reply.status == STATUS_TIMEOUT);
        link_client_release(client, &reply);
        replies++;
    }
    CHECK(link_client_send(client, SPAN_LITERAL("d"), 4));
    link_client_close(client);
    link_server_close(server);
}

static void a_peer_that_is_not_there_is_a_time_out_and_is_found_when_it_comes(void)
{
    struct link_client *client = open_client(1, 200);
    struct fault fault;
    char *bytes;
    size_t size;
    CHECK(link_client_call(client, SPAN_LITERAL("x"), &bytes, &size, &fault) ==
          STATUS_TIMEOUT);
    struct link_server *server = open_server(1);
    CHECK(link_client_send(client, SPAN_LITERAL("y"), 7));
    struct link_reply reply;
    for (;;) {
        uint32_t seen = bell;
        echo(server);
        if (link_client_next(client, &reply)) {
            CHECK(reply.tag == 7);
            bool answered = reply.status == STATUS_OK;
            link_client_release(client, &reply);
            if (answered)
                break;
            CHECK(link_client_send(client, SPAN_LITERAL("y"), 7));
        }
        CHECK(futex_wait(&bell, seen, DEADLINE_NS));
    }
    link_server_close(server);
    link_client_close(client);
}

static void a_peer_that_goes_away_ends_the_wait_at_once(void)
{
    struct link_server *server = open_server(1);
    struct link_client *client = open_client(1, 60000);
    CHECK(link_client_send(client, SPAN_LITERAL("x"), 1));
    struct link_request request;
    for (;;) {
        uint32_t seen = bell;
        if (link_server_next(server, &request))
            break;
        CHECK(futex_wait(&bell, seen, DEADLINE_NS));
    }
    link_server_close(server);
    struct link_reply reply;
    for (;;) {
        uint32_t seen = bell;
        if (link_client_next(client, &reply))
            break;
        CHECK(futex_wait(&bell, seen, DEADLINE_NS));
    }
    CHECK(reply.status == STATUS_UNAVAILABLE);
    link_client_release(client, &reply);
    link_client_close(client);
}

/* One reply, while the peer echoes; a call that meets the restart is made again. */
static void exchange(struct link_server *server, struct link_client *client)
{
    CHECK(link_client_send(client, SPAN_LITERAL("x"), 1));
    for (;;) {
        uint32_t seen = bell;
        struct link_reply reply;
        echo(server);
        if (!link_client_next(client, &reply)) {
            CHECK(futex_wait(&bell, seen, DEADLINE_NS));
            continue;
        }
        bool answered = reply.status == STATUS_OK;
        CHECK(answered || reply.status == STATUS_UNAVAILABLE);
        link_client_release(client, &reply);
        if (answered)
            return;
        CHECK(link_client_send(client, SPAN_LITERAL("x"), 1));
    }
}

/* So often that nng's own redialling has been seen to stop on the way. */
static void a_peer_is_found_again_after_each_of_many_restarts(void)
{
    struct link_client *client = open_client(1, 60000);
    for (int restart = 0; restart < RESTARTS_COUNT; restart++) {
        struct link_server *server = open_server(1);
        exchange(server, client);
        link_server_close(server);
    }
    link_client_close(client);
}

/* Connects and leaves before both have shaken hands, as a process that is killed does. */
static void leave_at_the_door(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", url + strlen("ipc://"));
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(file >= 0);
    /* It may be refused while the door is being opened again. */
    if (connect(file, (struct sockaddr *)&address, sizeof address) == 0)
        (void)!write(file, "\0SP", 3);
    close(file);
}

static void peers_that_leave_at_the_door_do_not_close_it(void)
{
    struct link_server *server = open_server(1);
    for (int peer = 0; peer < 200; peer++)
        leave_at_the_door();
    struct link_client *client = open_client(1, 60000);
    exchange(server, client);
    link_client_close(client);
    link_server_close(server);
}

int main(void)
{
    snprintf(url, sizeof url, "ipc:///tmp/ropeway-test-link-%d.ipc", (int)getpid());
    a_thousand_requests_get_their_own_replies();
    contexts_are_bounded_and_a_silent_peer_times_out();
    a_peer_that_is_not_there_is_a_time_out_and_is_found_when_it_comes();
    a_peer_that_goes_away_ends_the_wait_at_once();
    a_peer_is_found_again_after_each_of_many_restarts();
    peers_that_leave_at_the_door_do_not_close_it();
    puts("6 passed, 0 failed");
    return 0;
}
