/* driver.c - the main of every fuzz test: replays a corpus, then mutates it.
 *
 *     fuzz_NAME CORPUS_FOLDER RUNS [SEED]
 *
 * The entry is libFuzzer's LLVMFuzzerTestOneInput, so the same sources link with clang's
 * -fsanitize=fuzzer instead. Runs are a function of corpus and seed. An input that
 * crashes, aborts or takes over five seconds is left in the working folder as
 * crash-<pid>. Memory may grow by 20 MB (without sanitizers, whose own is larger).
 */
#include "common/base/rng.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEEDS_MAX        256
#define INPUT_BYTES_MAX  (1u << 16)
#define MUTATIONS_MAX    8
#define RUN_SECONDS_MAX  5
#define GROWTH_BYTES_MAX (20l << 20)

struct input {
    size_t size;
    uint8_t data[INPUT_BYTES_MAX];
};

static struct input *seeds[SEEDS_MAX];
static size_t seeds_count;

/* --- the input in hand, and what happens when it is the last one -------------------- */
static uint8_t *running;
static size_t running_size;
static char crash_path[64];

static void leave_crash(int signal_number)
{
    int descriptor = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool written = descriptor >= 0 &&
                   write(descriptor, running, running_size) == (ssize_t)running_size;
    static const char text[] = "fuzz: the input is left as ";
    if (written && write(STDERR_FILENO, text, sizeof text - 1) > 0 &&
        write(STDERR_FILENO, crash_path, strlen(crash_path)) > 0)
        (void)!write(STDERR_FILENO, "\n", 1);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void install_handlers(void)
{
    snprintf(crash_path, sizeof crash_path, "crash-%d", (int)getpid());
    signal(SIGABRT, leave_crash);
    signal(SIGALRM, leave_crash);
#if !defined(__SANITIZE_ADDRESS__)
    signal(SIGSEGV, leave_crash);
    signal(SIGBUS, leave_crash);
    signal(SIGFPE, leave_crash);
#endif
}

/* The input gets memory of exactly its size, so that sanitizers see one byte too many. */
static void run(const uint8_t *data, size_t size)
{
    running = malloc(size > 0 ? size : 1);
    running_size = size;
    if (size > 0)
        memcpy(running, data, size);
    alarm(RUN_SECONDS_MAX);
    LLVMFuzzerTestOneInput(running, size);
    alarm(0);
    free(running);
}

/* --- the corpus --------------------------------------------------------------------- */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_seed(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    struct input *seed = malloc(sizeof *seed);
    if (!file || !seed) {
        perror(path);
        exit(1);
    }
    seed->size = fread(seed->data, 1, sizeof seed->data, file);
    fclose(file);
    seeds[seeds_count++] = seed;
}

static void load_corpus(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, by_name);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.' && seeds_count < SEEDS_MAX)
            load_seed(folder, entries[i]->d_name);
        free(entries[i]);
    }
    if (seeds_count == 0) {
        fprintf(stderr, "fuzz: no corpus in %s\n", folder);
        exit(1);
    }
    free(entries);
}

/* --- mutations ---------------------------------------------------------------------- */
struct chance {
    uint64_t seed;
    uint32_t run;
    uint32_t drawn;
};

static uint32_t below(struct chance *chance, size_t bound)
{
    return (uint32_t)(rng_uniform(chance->seed, 0, chance->run, chance->drawn++) *
                      (float)bound);
}

/* Numbers that borders are made of, as they lie in memory: 1, 2, 4 or 8 bytes of them. */
static void put_number(struct chance *chance, struct input *input)
{
    const uint64_t numbers[] = {
        0,          1,           0x7F,           0x80,      0xFF,
        0xFFFF,     INT32_MAX,   UINT32_MAX,     INT64_MAX, 1ull << 63,
        UINT64_MAX, input->size, input->size + 1};
    uint64_t number = numbers[below(chance, sizeof numbers / sizeof numbers[0])];
    size_t width = (size_t)1 << below(chance, 4);
    if (width <= input->size)
        memcpy(input->data + below(chance, input->size - width + 1), &number, width);
}

static void cut_out(struct chance *chance, struct input *input)
{
    size_t at = below(chance, input->size + 1);
    size_t size = below(chance, input->size - at + 1);
    memmove(input->data + at, input->data + at + size, input->size - at - size);
    input->size -= size;
}

/* Bytes of any seed, put in anywhere. */
static void put_in(struct chance *chance, struct input *input)
{
    const struct input *from = seeds[below(chance, seeds_count)];
    size_t start = below(chance, from->size + 1);
    size_t size = below(chance, (from->size - start < 64 ? from->size - start : 64) + 1);
    size_t at = below(chance, input->size + 1);
    if (size > INPUT_BYTES_MAX - input->size)
        return;
    memmove(input->data + at + size, input->data + at, input->size - at);
    memcpy(input->data + at, from->data + start, size);
    input->size += size;
}

static void mutate(struct chance *chance, struct input *input)
{
    size_t at = below(chance, input->size + 1);
    switch (below(chance, 6)) {
    case 0:
        if (at < input->size)
            input->data[at] ^= (uint8_t)(1u << below(chance, 8));
        break;
    case 1:
        if (at < input->size)
            input->data[at] = (uint8_t)below(chance, 256);
        break;
    case 2:
        put_number(chance, input);
        break;
    case 3:
        cut_out(chance, input);
        break;
    case 4:
        put_in(chance, input);
        break;
    default:
        input->size = at;
        break;
    }
}

static long resident_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
}

static void run_mutated(uint64_t seed, uint32_t runs_count)
{
    static struct input input;
    for (uint32_t i = 0; i < runs_count; i++) {
        struct chance chance = {seed, i, 0};
        input = *seeds[below(&chance, seeds_count)];
        for (uint32_t left = 1 + below(&chance, MUTATIONS_MAX); left > 0; left--)
            mutate(&chance, &input);
        run(input.data, input.size);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER RUNS [SEED]\n", argv[0]);
        return 2;
    }
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    load_corpus(argv[1]);
    install_handlers();
    long before = resident_bytes();
    for (size_t i = 0; i < seeds_count; i++)
        run(seeds[i]->data, seeds[i]->size);
    run_mutated(seed, (uint32_t)strtoul(argv[2], NULL, 10));
    long growth = resident_bytes() - before;
    printf(
        "fuzz: %zu inputs of the corpus, %s mutated, seed %llu, memory grew by %ld KB\n",
        seeds_count, argv[2], (unsigned long long)seed, growth / 1024);
    for (size_t i = 0; i < seeds_count; i++)
        free(seeds[i]);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#else
    return growth <= GROWTH_BYTES_MAX ? 0 : 1;
#endif
}
