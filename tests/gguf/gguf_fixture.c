#include "tests/gguf/gguf_fixture.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_BYTES_MAX (16u << 20)

void guarded_init(struct guarded *guarded, const void *bytes, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages_bytes = (size + page - 1) / page * page;
    guarded->map_bytes = pages_bytes + page;
    guarded->map = mmap(NULL, guarded->map_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(guarded->map, MAP_FAILED);
    guarded->size = size;
    guarded->data = (uint8_t *)guarded->map + pages_bytes - size;
    if (size > 0)
        memcpy(guarded->data, bytes, size);
    mprotect((uint8_t *)guarded->map + pages_bytes, page, PROT_NONE);
}

void guarded_fini(struct guarded *guarded)
{
    munmap(guarded->map, guarded->map_bytes);
}

enum status fixture_try(const void *bytes, size_t size, struct fault *fault)
{
    struct guarded guarded;
    struct gguf *gguf;
    guarded_init(&guarded, bytes, size);
    enum status status =
        gguf_open_bytes(&gguf, FIXTURE_NAME, guarded.data, guarded.size, fault);
    if (status == STATUS_OK)
        gguf_close(gguf);
    guarded_fini(&guarded);
    return status;
}

static enum status try_writer(const struct gguf_writer *writer, struct fault *fault)
{
    struct buffer file;
    buffer_init(&file, FILE_BYTES_MAX);
    gguf_writer_finish(writer, &file);
    cr_assert_not(file.failed);
    *fault = (struct fault){0};
    enum status status = fixture_try(file.data, file.size, fault);
    buffer_fini(&file);
    return status;
}

void fixture_accepts(const struct gguf_writer *writer)
{
    struct fault fault;
    enum status status = try_writer(writer, &fault);
    cr_assert_eq(status, STATUS_OK, "%s", fault.sentence);
}

void fixture_refuses(const struct gguf_writer *writer, enum status status,
                     const char *words)
{
    struct fault fault;
    enum status found = try_writer(writer, &fault);
    cr_assert_eq(found, status, "%s, not %s: %s", status_wire_name(found),
                 status_wire_name(status), fault.sentence);
    cr_assert_eq(fault.status, status);
    cr_assert_eq(strncmp(fault.sentence, FIXTURE_NAME ": ", strlen(FIXTURE_NAME ": ")), 0,
                 "%s", fault.sentence);
    cr_assert_not_null(strstr(fault.sentence, words), "\"%s\" is not in: %s", words,
                       fault.sentence);
}

void fixture_tensor(struct gguf_writer *writer, const char *name, uint32_t dimensions,
                    const uint64_t *numbers, uint32_t numbers_count, uint32_t type,
                    uint64_t offset)
{
    writer->tensors_count++;
    gguf_write_string(&writer->table, span_of(name));
    gguf_write_u32(&writer->table, dimensions);
    for (uint32_t i = 0; i < numbers_count; i++)
        gguf_write_u64(&writer->table, numbers[i]);
    gguf_write_u32(&writer->table, type);
    gguf_write_u64(&writer->table, offset);
}

void fixture_good(struct gguf_writer *writer)
{
    gguf_writer_init(writer);
    gguf_writer_string(writer, "general.architecture", "llama");
    gguf_writer_u32(writer, "a.u32", 7);
    gguf_writer_f32(writer, "a.f32", 0.5f);
    gguf_writer_bool(writer, "a.bool", true);
    gguf_writer_array(writer, "a.strings", GGUF_STRING, 3);
    gguf_write_string(&writer->metadata, SPAN_LITERAL("one"));
    gguf_write_string(&writer->metadata, SPAN_LITERAL(""));
    gguf_write_string(&writer->metadata, SPAN_LITERAL("three"));
    gguf_writer_array(writer, "a.i32s", GGUF_I32, 2);
    gguf_write_u32(&writer->metadata, 5);
    gguf_write_u32(&writer->metadata, UINT32_MAX);
    gguf_writer_tensor(writer, "floats", GGUF_TYPE_F32, 8, 2);
    for (uint32_t i = 0; i < 16; i++)
        gguf_write_u32(&writer->data, i);
    gguf_writer_tensor(writer, "block", GGUF_TYPE_Q8_0, 32, 0);
    for (uint32_t i = 0; i < 34; i++)
        buffer_append_byte(&writer->data, (char)i);
}
