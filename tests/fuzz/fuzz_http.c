/* Any bytes as a connection's: requests within bounds, or a refusal with a reason; and
 * the same however the bytes are cut. */
#include "common/base/invariant.h"
#include "frontend/core/http_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_MAX 1024

/* What came of the bytes: enough of it to tell two readings apart. */
struct outcome {
    uint32_t requests_count;
    size_t body_bytes, url_bytes, headers_count;
    enum status refused;
};

static void note_request(struct outcome *outcome, const struct http_request *request)
{
    INVARIANT(request->body.size <= BODY_MAX);
    INVARIANT(request->url.size <= HTTP_URL_BYTES_MAX);
    INVARIANT(request->headers_count <= HTTP_HEADERS_MAX);
    for (uint32_t index = 0; index < request->headers_count; index++) {
        const struct http_header *header = &request->headers[index];
        INVARIANT(header->name_offset + header->name_size <= request->texts.size);
        INVARIANT(header->value_offset + header->value_size <= request->texts.size);
    }
    outcome->requests_count++;
    outcome->body_bytes += request->body.size;
    outcome->url_bytes += request->url.size;
    outcome->headers_count += request->headers_count;
}

/* Feeds pieces of at most piece_bytes. */
static struct outcome read_all(const uint8_t *data, size_t size, size_t piece_bytes)
{
    static struct http_reader reader;
    struct outcome outcome = {0};
    http_reader_init(&reader, BODY_MAX);
    for (size_t at = 0; at < size && outcome.refused == STATUS_OK;) {
        size_t used = 0;
        size_t left = size - at < piece_bytes ? size - at : piece_bytes;
        enum http_event event = http_reader_feed(
            &reader, (struct span){(const char *)data + at, left}, &used);
        INVARIANT(used <= left);
        at += used;
        if (event == HTTP_EVENT_REQUEST) {
            note_request(&outcome, &reader.request);
            http_reader_next(&reader);
        } else if (event == HTTP_EVENT_FAULT) {
            INVARIANT(reader.fault.status != STATUS_OK && reader.fault.sentence[0]);
            outcome.refused = reader.fault.status;
        }
    }
    http_reader_fini(&reader);
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole = read_all(data, size, size + 1);
    struct outcome cut = read_all(data, size, 1);
    INVARIANT(whole.requests_count == cut.requests_count);
    INVARIANT(whole.body_bytes == cut.body_bytes);
    INVARIANT(whole.url_bytes == cut.url_bytes);
    INVARIANT(whole.headers_count == cut.headers_count);
    INVARIANT((whole.refused == STATUS_OK) == (cut.refused == STATUS_OK));
    return 0;
}
