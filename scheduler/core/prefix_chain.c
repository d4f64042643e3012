/* The hash's own functions are marked as superseded by EVP's, which take memory for each
 * message. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "scheduler/core/prefix_chain.h"

#include <openssl/sha.h>

/* What a component is. A tag keeps its meaning for as long as blocks may outlive us. */
enum component {
    COMPONENT_MODEL = 1,
    COMPONENT_BLOCK_SIZE,
    COMPONENT_OWNER,
    COMPONENT_SALT,
    COMPONENT_PARENT,
    COMPONENT_TOKENS
};

#define LENGTH_BYTES 8

static void add(SHA256_CTX *hash, enum component component, const void *bytes,
                size_t size_bytes)
{
    unsigned char head[1 + LENGTH_BYTES] = {(unsigned char)component};
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        head[1 + i] = (unsigned char)((uint64_t)size_bytes >> (8 * i));
    SHA256_Update(hash, head, sizeof head);
    SHA256_Update(hash, bytes, size_bytes);
}

static struct block_digest end(SHA256_CTX *hash)
{
    struct block_digest digest;
    SHA256_Final(digest.bytes, hash);
    return digest;
}

struct block_digest prefix_chain_root(const struct geometry *geometry,
                                      const uint8_t owner_key[OWNER_KEY_BYTES],
                                      struct span salt)
{
    SHA256_CTX hash;
    SHA256_Init(&hash);
    add(&hash, COMPONENT_MODEL, geometry->model_identity,
        sizeof geometry->model_identity);
    add(&hash, COMPONENT_BLOCK_SIZE, &geometry->block_size, sizeof geometry->block_size);
    add(&hash, COMPONENT_OWNER, owner_key, OWNER_KEY_BYTES);
    if (salt.size != 0)
        add(&hash, COMPONENT_SALT, salt.data, salt.size);
    return end(&hash);
}

struct block_digest prefix_chain_next(const struct block_digest *before,
                                      const uint32_t *tokens, uint32_t tokens_count)
{
    SHA256_CTX hash;
    SHA256_Init(&hash);
    add(&hash, COMPONENT_PARENT, before->bytes, sizeof before->bytes);
    add(&hash, COMPONENT_TOKENS, tokens, tokens_count * sizeof *tokens);
    return end(&hash);
}
