#include "tools/serve/leftovers.h"

#include "scheduler/kv_region.h"
#include "tools/serve/readiness.h"
#include <string.h>
#include <unistd.h>

void leftovers_remove(const struct config *config)
{
    static const char scheme[] = "ipc://";
    static const char *const doors[] = {CONFIG_SCHEDULER_DOOR, CONFIG_FRONTEND_DOOR};
    if (!instance_segments_reclaim(config->instance))
        return;
    for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
        char url[CONFIG_TEXT_BYTES];
        config_url(config, doors[i], url, sizeof url);
        unlink(url + strlen(scheme));
    }
    readiness_forget_port(config);
}
