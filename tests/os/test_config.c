#include "common/os/config.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS_MAX 16

static char runtime_dir[64];

/* Loads with flags, a NULL-terminated list, after a model and a runtime dir. */
static enum status load(struct config *config, enum config_program program,
                        const char *const *flags, struct fault *fault)
{
    char *argv[ARGUMENTS_MAX] = {"program", "--model", "m.gguf", "--runtime-dir"};
    int argc = 4;
    bool exit_now;
    snprintf(runtime_dir, sizeof runtime_dir, "/tmp/ropeway-test-config-%d",
             (int)getpid());
    argv[argc++] = runtime_dir;
    while (*flags)
        argv[argc++] = (char *)*flags++;
    enum status status = config_load(config, program, argc, argv, &exit_now, fault);
    rmdir(runtime_dir);
    return status;
}

/* As load, with the runtime directory that the test has prepared. */
static enum status load_in(const char *folder, struct fault *fault)
{
    char *argv[] = {"program",       "--model",      "m.gguf",
                    "--runtime-dir", (char *)folder, NULL};
    struct config config;
    bool exit_now;
    return config_load(&config, CONFIG_SERVE, 5, argv, &exit_now, fault);
}

Test(config, a_runtime_dir_that_others_may_write_into_is_refused)
{
    char folder[64], other[64];
    struct fault fault = {0};
    snprintf(folder, sizeof folder, "/tmp/ropeway-test-dir-%d", (int)getpid());
    snprintf(other, sizeof other, "/tmp/ropeway-test-link-%d", (int)getpid());
    cr_assert_eq(load_in(folder, &fault), STATUS_OK);
    cr_assert_eq(load_in(folder, &fault), STATUS_OK, "one of our own is used again");
    chmod(folder, 0770);
    cr_assert_eq(load_in(folder, &fault), STATUS_CONFLICT);
    cr_assert_not_null(strstr(fault.sentence, "has mode 770"), "%s", fault.sentence);
    chmod(folder, 0700);
    cr_assert_eq(symlink(folder, other), 0);
    cr_assert_eq(load_in(other, &fault), STATUS_CONFLICT);
    cr_assert_not_null(strstr(fault.sentence, "is not a folder"), "%s", fault.sentence);
    unlink(other);
    rmdir(folder);
    cr_assert_eq(load_in("/nonexistent/folder", &fault), STATUS_IO);
}

struct refusal {
    const char *flags[5];
    const char *in_sentence;
};

Test(config, every_bad_option_is_one_sentence_that_names_it)
{
    static const struct refusal refusals[] = {
        {{"--max-num-sequences", "3"}, "did you mean --max-num-seqs?"},
        {{"--zzzzzzzz", "3"}, "unknown option --zzzzzzzz"},
        {{"-zzzz", "3"}, "unknown option -zzzz"},
        {{"-port", "70000"}, "--port: '70000'"},
        {{"--port"}, "--port needs a value"},
        {{"--port", "70000"}, "--port: '70000' is not a whole number from 0 to 65535"},
        {{"--port=12x"}, "'12x'"},
        {{"--port", "-1"}, "'-1'"},
        {{"--port", ""}, "''"},
        {{"stray"}, "'stray' is not an option"},
        {{"--scheduling-policy", "lifo"}, "'lifo' is not one of fcfs"},
        {{"--log-level", "inf"}, "'inf' is not one of error|warn|info|debug"},
        {{"--block-size", "24"}, "not a power of two"},
        {{"--num-blocks", "9", "--kv-cache-memory", "1GiB"}, "give one of them"},
        {{"--kv-cache-memory", "99999999TiB"}, "99999999TiB"},
        {{"--max-num-batched-tokens", "90"}, "give 96 or more"},
        {{"--workers", "2"}, "this version runs one worker"},
        {{"--instance", "Bad_Name"}, "a-z, 0-9 and -"},
        {{"--config", "/nonexistent.ini"}, "cannot be read"},
        {{"--config", "/tmp"}, "--config /tmp is a folder"},
        {{"--model", ""}, "give --model PATH"},
    };
    for (size_t row = 0; row < sizeof refusals / sizeof refusals[0]; row++) {
        struct config config;
        struct fault fault = {0};
        cr_expect_neq(load(&config, CONFIG_SERVE, refusals[row].flags, &fault), STATUS_OK,
                      "row %zu", row);
        cr_expect_not_null(strstr(fault.sentence, refusals[row].in_sentence),
                           "row %zu: %s", row, fault.sentence);
    }
}

Test(config, an_option_of_another_program_is_refused_by_name)
{
    struct config config;
    struct fault fault;
    const char *flags[] = {"--port", "1", NULL};
    cr_assert_eq(load(&config, CONFIG_WORKER, flags, &fault), STATUS_INVALID);
    cr_assert_str_eq(fault.sentence, "--port is not an option of ropeway-worker; see "
                                     "ropeway-worker --help");
}

Test(config, flags_win_over_environment_over_file_over_defaults)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/ropeway-test-config-%d.ini", (int)getpid());
    FILE *file = fopen(path, "w");
    fputs("[ropeway]\nport = 1\nmax_num_seqs = 2\nprefill-chunk = 3\n", file);
    fclose(file);
    setenv("ROPEWAY_MAX_NUM_SEQS", "20", 1);
    setenv("ROPEWAY_PREFILL_CHUNK", "30", 1);
    const char *flags[] = {"--config", path, "--prefill-chunk", "300", NULL};
    struct config config;
    struct fault fault;
    cr_assert_eq(load(&config, CONFIG_SERVE, flags, &fault), STATUS_OK, "%s",
                 fault.sentence);
    unlink(path);
    cr_assert_eq(config.port, 1);
    cr_assert_eq(config.max_num_seqs, 20);
    cr_assert_eq(config.prefill_chunk, 300);
    cr_assert_eq(config.block_size, 16);
    cr_assert_eq(config.kv_cache_memory_bytes, 512ull << 20);
}

Test(config, an_unknown_key_of_the_file_is_named)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/ropeway-test-key-%d.ini", (int)getpid());
    FILE *file = fopen(path, "w");
    fputs("prot = 1\n", file);
    fclose(file);
    const char *flags[] = {"--config", path, NULL};
    struct config config;
    struct fault fault;
    cr_assert_eq(load(&config, CONFIG_SERVE, flags, &fault), STATUS_INVALID);
    unlink(path);
    cr_assert_not_null(strstr(fault.sentence, "unknown key 'prot'"), "%s",
                       fault.sentence);
}

Test(config, sizes_take_units)
{
    const char *flags[] = {"--kv-cache-memory", "3GiB", NULL};
    struct config config;
    struct fault fault;
    cr_assert_eq(load(&config, CONFIG_SERVE, flags, &fault), STATUS_OK);
    cr_assert_eq(config.kv_cache_memory_bytes, 3ull << 30);
}

Test(config, the_token_budget_follows_chunk_and_slots_where_none_is_given)
{
    const char *few[] = {"--max-num-seqs", "8", NULL};
    const char *many[] = {"--max-num-seqs", "200", NULL};
    struct config config;
    struct fault fault;
    cr_assert_eq(load(&config, CONFIG_WORKER, few, &fault), STATUS_OK);
    cr_assert_eq(config.max_num_batched_tokens, 128);
    cr_assert_eq(load(&config, CONFIG_SCHEDULER, many, &fault), STATUS_OK);
    cr_assert_eq(config.max_num_batched_tokens, 264);
}

Test(config, the_flags_for_a_child_give_it_the_same_configuration)
{
    const char *flags[] = {"--num-blocks", "77",  "--api-key", "secret",
                           "--host",       "::1", NULL};
    struct config config, again;
    struct fault fault;
    bool exit_now;
    cr_assert_eq(load(&config, CONFIG_SERVE, flags, &fault), STATUS_OK);
    char **argv = config_argv(&config, CONFIG_SERVE, "program");
    int argc = 0;
    for (; argv[argc]; argc++)
        cr_assert_null(strstr(argv[argc], "secret"));
    setenv("ROPEWAY_API_KEY", "secret", 1);
    cr_assert_eq(config_load(&again, CONFIG_SERVE, argc, argv, &exit_now, &fault),
                 STATUS_OK, "%s", fault.sentence);
    rmdir(runtime_dir);
    cr_assert_arr_eq(&again, &config, sizeof config);
    config_argv_free(argv);
}
