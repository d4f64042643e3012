#include "common/gguf/gguf.h"

#include "common/gguf/gguf_foreign.h"
#include "common/gguf/gguf_internal.h"
#include <stdlib.h>

/* The header: magic[4] version (u32) tensors (u64) metadata keys (u64). */
static const struct span magic = SPAN_LITERAL("GGUF");
#define VERSION_LEAST     2
#define VERSION_MOST      3
#define ALIGNMENT_DEFAULT 32
/* Alignments of more than a large page serve nothing; a cap keeps sums from overflowing.
 */
#define ALIGNMENT_MAX 65536

typedef unsigned long long wide; /* for %llu */

static enum status check_version(const char *path, uint32_t version, struct fault *fault)
{
    if (version >= VERSION_LEAST && version <= VERSION_MOST)
        return STATUS_OK;
    if (version > 0 && (version & 0xFFFF) == 0)
        return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                         "%s: is a big-endian GGUF; take the little-endian file", path);
    return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                     "%s: is GGUF version %u; versions %d and %d are read%s", path,
                     version, VERSION_LEAST, VERSION_MOST,
                     version < VERSION_LEAST ? ", convert the model again" : "");
}

static enum status read_magic(struct gguf_reader *reader)
{
    const struct span file = {(const char *)reader->data, reader->size_bytes};
    if (file.size < magic.size || memcmp(file.data, magic.data, magic.size) != 0)
        return fault_set(reader->fault, STATUS_UNSUPPORTED, NULL, "%s: %s", reader->path,
                         gguf_foreign_sentence(file));
    reader->at = magic.size;
    return STATUS_OK;
}

static enum status read_alignment(const struct gguf *gguf, uint32_t *alignment,
                                  struct fault *fault)
{
    const struct gguf_entry *entry = gguf_values_find(&gguf->values, "general.alignment");
    *alignment = ALIGNMENT_DEFAULT;
    if (!entry)
        return STATUS_OK;
    if (entry->type != GGUF_U32)
        return fault_set(fault, STATUS_CORRUPT, NULL,
                         "%s: key 'general.alignment' is of type %s, not u32", gguf->path,
                         gguf_value_type_name(entry->type));
    memcpy(alignment, entry->data, sizeof *alignment);
    if (*alignment == 0 || *alignment > ALIGNMENT_MAX ||
        (*alignment & (*alignment - 1)) != 0)
        return fault_set(
            fault, STATUS_CORRUPT, NULL,
            "%s: key 'general.alignment' is %u, not a power of two from 1 to %d",
            gguf->path, *alignment, ALIGNMENT_MAX);
    return STATUS_OK;
}

static enum status refuse_split(const struct gguf *gguf, struct fault *fault)
{
    const struct gguf_entry *entry = gguf_values_find(&gguf->values, "split.count");
    int64_t parts = 0, part = 0;
    if (!entry || (gguf_entry_integer(entry, &parts) && (parts == 0 || parts == 1)))
        return STATUS_OK;
    entry = gguf_values_find(&gguf->values, "split.no");
    if (entry)
        gguf_entry_integer(entry, &part);
    return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                     "%s: is part %lld of a model split into %lld files; join them first "
                     "with llama-gguf-split --merge",
                     gguf->path, (long long)part + 1, (long long)parts);
}

static enum status read_contents(struct gguf *gguf, struct gguf_reader *reader)
{
    uint32_t version, alignment;
    uint64_t tensors_count, entries_count;
    enum status status = read_magic(reader);
    if (status != STATUS_OK)
        return status;
    if (!gguf_reader_u32(reader, &version))
        return reader->fault->status;
    status = check_version(gguf->path, version, reader->fault);
    if (status != STATUS_OK)
        return status;
    if (!gguf_reader_u64(reader, &tensors_count) ||
        !gguf_reader_u64(reader, &entries_count))
        return reader->fault->status;
    reader->section = "the metadata";
    status = gguf_values_read(&gguf->values, reader, entries_count);
    if (status == STATUS_OK)
        status = refuse_split(gguf, reader->fault);
    if (status == STATUS_OK)
        status = read_alignment(gguf, &alignment, reader->fault);
    if (status != STATUS_OK)
        return status;
    reader->section = "the tensor table";
    return gguf_tensors_read(&gguf->tensors, reader, tensors_count, alignment);
}

/* A gguf with its path and nothing else, or NULL and a fault. */
static struct gguf *create(const char *path, struct fault *fault)
{
    struct gguf *made = calloc(1, sizeof *made);
    char *own_path = strdup(path);
    if (made && own_path) {
        made->path = own_path;
        return made;
    }
    free(made);
    free(own_path);
    fault_set(fault, STATUS_NO_SPACE, NULL, "%s: no memory to open it", path);
    return NULL;
}

/* Reads the bytes that made has been given; frees all on failure. */
static enum status finish_open(struct gguf **gguf, struct gguf *made, struct fault *fault)
{
    struct gguf_reader reader = {.path = made->path,
                                 .data = made->data,
                                 .size_bytes = made->size_bytes,
                                 .section = "the header",
                                 .fault = fault};
    enum status status = read_contents(made, &reader);
    if (status == STATUS_OK) {
        *gguf = made;
        return STATUS_OK;
    }
    gguf_close(made);
    return status;
}

enum status gguf_open_bytes(struct gguf **gguf, const char *name, const void *data,
                            uint64_t size_bytes, struct fault *fault)
{
    struct gguf *made = create(name, fault);
    if (!made)
        return fault->status;
    made->data = data;
    made->size_bytes = size_bytes;
    return finish_open(gguf, made, fault);
}

enum status gguf_open(struct gguf **gguf, const char *path, struct fault *fault)
{
    struct gguf *made = create(path, fault);
    if (!made)
        return fault->status;
    enum status status = mapped_file_open(&made->file, path, fault);
    if (status != STATUS_OK) {
        gguf_close(made);
        return status;
    }
    made->data = made->file.data;
    made->size_bytes = made->file.size_bytes;
    return finish_open(gguf, made, fault);
}

void gguf_close(struct gguf *gguf)
{
    if (!gguf)
        return;
    gguf_values_free(&gguf->values);
    gguf_tensors_free(&gguf->tensors);
    if (gguf->file.data)
        mapped_file_close(&gguf->file);
    free(gguf->path);
    free(gguf);
}

const char *gguf_path(const struct gguf *gguf)
{
    return gguf->path;
}

uint64_t gguf_file_bytes(const struct gguf *gguf)
{
    return gguf->size_bytes;
}

uint64_t gguf_tensors_count(const struct gguf *gguf)
{
    return gguf->tensors.count;
}

const struct gguf_tensor *gguf_tensor_at(const struct gguf *gguf, uint64_t index)
{
    return index < gguf->tensors.count ? &gguf->tensors.tensors[index] : NULL;
}

const struct gguf_tensor *gguf_find_tensor(const struct gguf *gguf, const char *name)
{
    return gguf_tensors_find(&gguf->tensors, name);
}
