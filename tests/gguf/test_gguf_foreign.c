#include "common/os/mapped_file.h"
#include "tests/gguf/gguf_fixture.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void refuses(struct span bytes, const char *words)
{
    struct fault fault;
    enum status status = fixture_try(bytes.data, bytes.size, &fault);
    cr_assert_eq(status, STATUS_UNSUPPORTED, "%s", fault.sentence);
    cr_assert_not_null(strstr(fault.sentence, words), "\"%s\" is not in: %s", words,
                       fault.sentence);
}

Test(foreign, what_is_no_gguf_is_named)
{
    refuses(SPAN_LITERAL("tjgg\3\0\0\0"), "is a GGJT model");
    refuses(SPAN_LITERAL("lmgg"), "is a GGML model");
    refuses(SPAN_LITERAL("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a"),
            "is a git-lfs pointer");
    refuses(SPAN_LITERAL("\n<!DOCTYPE html><title>404</title>"),
            "is an HTML or XML page");
    refuses(SPAN_LITERAL("{\"error\":\"no such repository\"}"), "is a JSON document");
    refuses(SPAN_LITERAL("PK\3\4..."), "is a zip archive");
    refuses(SPAN_LITERAL("\x10\0\0\0\0\0\0\0{\"a\":{}}       "), "is a safetensors file");
    refuses(SPAN_LITERAL("GGU"), "does not begin with GGUF");
    refuses(SPAN_LITERAL("\0\0\0\0\0\0\0\0"), "does not begin with GGUF");
    refuses(SPAN_LITERAL(""), "does not begin with GGUF");
}

Test(foreign, other_versions_and_byte_orders_are_named)
{
    refuses(SPAN_LITERAL("GGUF\1\0\0\0"), "is GGUF version 1;");
    refuses(SPAN_LITERAL("GGUF\4\0\0\0"), "is GGUF version 4;");
    refuses(SPAN_LITERAL("GGUF\0\0\0\0"), "is GGUF version 0;");
    refuses(SPAN_LITERAL("GGUF\0\0\0\3"), "is a big-endian GGUF");
    struct gguf_writer writer;
    for (uint32_t version = 2; version <= 3; version++) {
        fixture_good(&writer);
        writer.version = version;
        fixture_accepts(&writer);
        gguf_writer_fini(&writer);
    }
}

static void refuses_path(const char *path, const char *words)
{
    struct gguf *gguf;
    struct fault fault;
    cr_assert_eq(gguf_open(&gguf, path, &fault), STATUS_IO);
    cr_assert_eq(strncmp(fault.sentence, path, strlen(path)), 0, "%s", fault.sentence);
    cr_assert_not_null(strstr(fault.sentence, words), "\"%s\" is not in: %s", words,
                       fault.sentence);
}

Test(foreign, what_is_no_regular_file_is_named)
{
    char folder[] = "/tmp/ropeway-test-gguf-XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(folder));
    refuses_path(folder, "is a directory");
    refuses_path("/dev/zero", "is a device");
    snprintf(path, sizeof path, "%s/none", folder);
    refuses_path(path, "cannot be opened: No such file or directory");
    cr_assert_eq(mkfifo(path, 0600), 0);
    refuses_path(path, "is a pipe");
    unlink(path);
    FILE *file = fopen(path, "w");
    refuses_path(path, "is empty");
    fclose(file);
    if (geteuid() != 0) {
        cr_assert_eq(chmod(path, 0), 0);
        refuses_path(path, "cannot be opened: Permission denied");
    }
    unlink(path);
    rmdir(folder);
}

Test(foreign, a_mapped_file_gives_its_bytes)
{
    char path[] = "/tmp/ropeway-test-map-XXXXXX";
    int descriptor = mkstemp(path);
    struct mapped_file file;
    struct fault fault;
    cr_assert_eq(write(descriptor, "bytes", 5), 5);
    close(descriptor);
    cr_assert_eq(mapped_file_open(&file, path, &fault), STATUS_OK);
    unlink(path);
    cr_assert_eq(file.size_bytes, 5);
    cr_assert_arr_eq(file.data, "bytes", 5);
    mapped_file_close(&file);
    cr_assert_null(file.data);
}
