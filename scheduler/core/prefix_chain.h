/* prefix_chain.h - names of a sequence's blocks: each one's digest names all before it.
 *
 * Layer:   scheduler/core (pure; OpenSSL's SHA-256, which takes no memory).
 * Form:    root  = SHA-256 over the model's identity, the block size, the owner's key
 *                  and, where one was given, the request's salt;
 *          block = SHA-256 over the digest before it and the block's tokens.
 *          Each component is written as its tag (one byte), its size in bytes (u64,
 *          little-endian) and its bytes, so that no two lists of components are the same
 *          bytes: a salt is never taken for another part, nor 'ab' 'c' for 'a' 'bc'.
 * Why:     two sequences share a name exactly when they compute the same rows for the
 *          same owner and salt, so that nobody learns from timing what others have asked.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_PREFIX_CHAIN_H
#define ROPEWAY_SCHEDULER_CORE_PREFIX_CHAIN_H

#include "common/base/span.h"
#include "proto/kv_layout.h"

/* The name before a sequence's first block. salt is empty for none. */
struct block_digest prefix_chain_root(const struct geometry *geometry,
                                      const uint8_t owner_key[OWNER_KEY_BYTES],
                                      struct span salt);

/* The name of the block of these tokens behind the one named before. */
struct block_digest prefix_chain_next(const struct block_digest *before,
                                      const uint32_t *tokens, uint32_t tokens_count);

#endif
