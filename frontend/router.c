#include "frontend/router.h"

#include "common/base/invariant.h"
#include "frontend/core/openai_error.h"
#include "frontend/endpoints.h"
#include "frontend/server.h"
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PATHS_BYTES 256 /* of all routes, in a sentence */

#define GET  (HTTP_METHOD_GET | HTTP_METHOD_HEAD)
#define POST HTTP_METHOD_POST

struct route {
    const char *path;
    unsigned methods;
    bool open; /* asks for no key: what watches a service has none */
    const char *allow;
    endpoint_handler *handler;
};

static const struct route routes[] = {
    {"/health", GET, true, "GET, HEAD, OPTIONS", endpoint_health},
    {"/version", GET, true, "GET, HEAD, OPTIONS", endpoint_version},
    {"/metrics", GET, true, "GET, HEAD, OPTIONS", endpoint_metrics},
    {"/v1/models", GET, false, "GET, HEAD, OPTIONS", endpoint_models},
    {"/v1/models/*", GET, false, "GET, HEAD, OPTIONS", endpoint_model},
    {"/v1/completions", POST, false, "POST, OPTIONS", endpoint_completions},
    {"/v1/chat/completions", POST, false, "POST, OPTIONS", endpoint_chat},
};

#define ROUTES_COUNT (sizeof routes / sizeof routes[0])

/* A '*' at the end of a route's path stands for one character or more. */
static bool is_path_of(const struct route *route, struct span path)
{
    size_t size = strlen(route->path) - 1;
    if (route->path[size] != '*')
        return span_equal(path, span_of(route->path));
    return path.size > size && memcmp(path.data, route->path, size) == 0;
}

static const struct route *find_route(struct span path)
{
    if (path.size > 1 && path.data[path.size - 1] == '/')
        path.size--;
    for (size_t row = 0; row < ROUTES_COUNT; row++)
        if (is_path_of(&routes[row], path))
            return &routes[row];
    return NULL;
}

static void answer_without_body(struct sink *sink, int code, const char *allow)
{
    struct answer answer = {.code = code, .allow = allow};
    sink->calls->answer(sink, &answer);
}

/* Digests are compared, in constant time, so that neither the key's bytes nor its length
 * show in how long the answer takes. */
bool router_key_is_right(const struct server *server, struct span key)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    if (server->config->api_key[0] == '\0')
        return true;
    SHA256((const unsigned char *)key.data, key.size, digest);
    return CRYPTO_memcmp(digest, server->api_key_digest, sizeof digest) == 0;
}

static bool has_right_key(const struct server *server, const struct http_request *request)
{
    static const char scheme[] = "Bearer ";
    const size_t scheme_size = sizeof scheme - 1;
    struct span value = http_request_header(request, "authorization");
    if (value.size < scheme_size || strncasecmp(value.data, scheme, scheme_size) != 0)
        return router_key_is_right(server, (struct span){0});
    return router_key_is_right(
        server, (struct span){value.data + scheme_size, value.size - scheme_size});
}

static void refuse(struct sink *sink, enum status status, const char *sentence)
{
    struct fault fault;
    fault_set(&fault, status, NULL, "%s", sentence);
    sink_fault(sink, &fault, 0);
}

/* Whoever opens the server in a browser, or forgets the /v1, learns where to go. */
static void refuse_path(struct sink *sink)
{
    char paths[PATHS_BYTES];
    size_t size = 0;
    for (size_t row = 0; row < ROUTES_COUNT; row++)
        size += (size_t)snprintf(paths + size, sizeof paths - size, "%s%s",
                                 row ? ", " : "", routes[row].path);
    INVARIANT(size < sizeof paths);
    struct fault fault;
    fault_set(&fault, STATUS_NOT_FOUND, NULL,
              "There is nothing at this path; ropeway answers at %s.", paths);
    sink_fault(sink, &fault, 0);
}

static void refuse_method(struct sink *sink, const struct route *route)
{
    struct fault fault;
    struct buffer json;
    fault_set(&fault, STATUS_METHOD, NULL, "%s answers to %s.", route->path,
              route->allow);
    buffer_init(&json, OPENAI_ERROR_BYTES_MAX);
    openai_error_write(&json, &fault);
    struct answer answer = {.code = status_http_code(STATUS_METHOD),
                            .content_type = "application/json",
                            .allow = route->allow,
                            .body = buffer_span(&json)};
    sink->calls->answer(sink, &answer);
    buffer_fini(&json);
}

void router_route(struct server *server, struct http_request *request, struct sink *sink)
{
    const struct route *route = find_route(http_request_path(request));
    server->metrics.http_requests_total++;
    if (!route)
        refuse_path(sink);
    else if (request->method == HTTP_METHOD_OPTIONS)
        answer_without_body(sink, 204, route->allow);
    else if (!(request->method & route->methods))
        refuse_method(sink, route);
    else if (!route->open && !has_right_key(server, request))
        refuse(sink, STATUS_UNAUTHORIZED,
               "The API key is missing or wrong: send Authorization: Bearer KEY.");
    else
        route->handler(server, request, sink);
}
