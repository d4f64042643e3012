/* prompt.h - the HTTP requests that are sent. */
#ifndef ROPEWAY_TOOLS_BENCH_PROMPT_H
#define ROPEWAY_TOOLS_BENCH_PROMPT_H

#include "common/base/buffer.h"
#include "tools/bench/options.h"

/* Bytes that any request of these options fits in. */
size_t prompt_request_bytes_max(const struct bench_options *options);

/* Request number `number`, head and body: the same for the same seed. Its prompt is token
 * ids, so that it is as long as asked for under every tokenizer, and random, so that no
 * prefix cache knows it. */
void prompt_write_request(const struct bench_options *options, uint32_t number,
                          struct buffer *out);

#endif
