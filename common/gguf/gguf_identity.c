#include "common/gguf/gguf.h"

#include "common/base/invariant.h"
#include "common/gguf/gguf_internal.h"
#include <openssl/evp.h>

/* Two files whose tables agree and whose weights differ, differ nearly everywhere: 256
 * pages of the data tell them apart, and reading them takes milliseconds. */
#define SAMPLES_COUNT 256
#define SAMPLE_BYTES  4096

static void hash(EVP_MD_CTX *context, const void *data, uint64_t size_bytes)
{
    INVARIANT(EVP_DigestUpdate(context, data, size_bytes) == 1);
}

/* Evenly spaced over the data, the last one at its very end; all of it where it is small.
 */
static void hash_samples(EVP_MD_CTX *context, const uint8_t *data, uint64_t size_bytes)
{
    if (size_bytes <= (uint64_t)SAMPLES_COUNT * SAMPLE_BYTES) {
        hash(context, data, size_bytes);
        return;
    }
    uint64_t stride = (size_bytes - SAMPLE_BYTES) / (SAMPLES_COUNT - 1);
    for (uint64_t i = 0; i < SAMPLES_COUNT - 1; i++)
        hash(context, data + i * stride, SAMPLE_BYTES);
    hash(context, data + size_bytes - SAMPLE_BYTES, SAMPLE_BYTES);
}

void gguf_identity(const struct gguf *gguf, uint8_t digest[32])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    INVARIANT(context != NULL);
    INVARIANT(EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1);
    /* A file without tensors may end before its data would begin. */
    uint64_t start = gguf->tensors.data_start < gguf->size_bytes
                         ? gguf->tensors.data_start
                         : gguf->size_bytes;
    hash(context, &gguf->size_bytes, sizeof gguf->size_bytes);
    hash(context, gguf->data, start);
    hash_samples(context, gguf->data + start, gguf->size_bytes - start);
    unsigned int size = 0;
    INVARIANT(EVP_DigestFinal_ex(context, digest, &size) == 1);
    INVARIANT(size == 32);
    EVP_MD_CTX_free(context);
}
