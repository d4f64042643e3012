#include "common/gguf/gguf_foreign.h"

struct foreign {
    struct span prefix;
    const char *sentence;
};

/* What people point a server at instead of a model, by its first bytes. */
static const struct foreign foreigners[] = {
    {SPAN_LITERAL("tjgg"), "is a GGJT model of before August 2023; convert it to GGUF"},
    {SPAN_LITERAL("lmgg"), "is a GGML model of before August 2023; convert it to GGUF"},
    {SPAN_LITERAL("fmgg"), "is a GGMF model of before August 2023; convert it to GGUF"},
    {SPAN_LITERAL("algg"), "is a GGLA adapter, not a model"},
    {SPAN_LITERAL("version https://git-lfs"),
     "is a git-lfs pointer, not the model; fetch it with git lfs pull"},
    {SPAN_LITERAL("<"), "is an HTML or XML page, not a model; fetch the file itself"},
    {SPAN_LITERAL("{"), "is a JSON document, not a model; fetch the file itself"},
    {SPAN_LITERAL("PK\x03\x04"),
     "is a zip archive (or a PyTorch model); convert it to GGUF"},
    {SPAN_LITERAL("\x1f\x8b"), "is gzip-compressed; uncompress it first"},
    {SPAN_LITERAL("\x28\xb5\x2f\xfd"), "is zstd-compressed; uncompress it first"},
};

/* A safetensors file is a length of 64 bits and a JSON document. */
static const struct span safetensors_inside = SPAN_LITERAL("{\"");
#define SAFETENSORS_JSON_AT 8

static bool starts_with(struct span file, size_t at, struct span prefix)
{
    return file.size >= at + prefix.size &&
           memcmp(file.data + at, prefix.data, prefix.size) == 0;
}

const char *gguf_foreign_sentence(struct span file)
{
    size_t blank = 0;
    while (blank < file.size && file.data[blank] == '\n')
        blank++;
    for (size_t i = 0; i < sizeof foreigners / sizeof foreigners[0]; i++)
        if (starts_with(file, blank, foreigners[i].prefix))
            return foreigners[i].sentence;
    if (starts_with(file, SAFETENSORS_JSON_AT, safetensors_inside))
        return "is a safetensors file; convert it to GGUF";
    return "is no GGUF file: it does not begin with GGUF";
}
