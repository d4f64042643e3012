#include "tests/golden/golden_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void golden_model_path(const char *variable, const char *file, char *path,
                       size_t path_bytes)
{
    const char *given = getenv(variable), *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (given != NULL)
        snprintf(path, path_bytes, "%s", given);
    else if (cache != NULL && cache[0] != '\0')
        snprintf(path, path_bytes, "%s/ropeway/%s", cache, file);
    else
        snprintf(path, path_bytes, "%s/.cache/ropeway/%s", home ? home : "", file);
    if (access(path, R_OK) == 0)
        return;
    printf("skipped: there is no %s; ./serve downloads it, or set %s\n", path, variable);
    exit(GOLDEN_SKIPPED);
}
