/* msgpack_json.h - the door's msgpack to JSON values and back, so that no rule of a
 * request or an answer is written twice.
 *
 * Layer:   frontend/core (pure; jansson).
 * Rules:   a document is a map with text keys, at most JSON_DEPTH_MAX levels deep; bin is
 *          taken as str, since some libraries pack texts so; texts must be UTF-8; a
 *          repeated key, an extension type and bytes behind the map are refused.
 */
#ifndef ROPEWAY_FRONTEND_CORE_MSGPACK_JSON_H
#define ROPEWAY_FRONTEND_CORE_MSGPACK_JSON_H

#include "common/base/buffer.h"
#include "common/base/status.h"
#include <jansson.h>

/* The caller json_decref's *root. */
enum status msgpack_json_read(struct span bytes, json_t **root, struct fault *fault);

void msgpack_json_write(struct buffer *out, const json_t *value);

#endif
