#include "tools/serve.h"

#include "common/base/exit_codes.h"
#include "common/os/config.h"
#include "common/os/log.h"
#include "tools/serve/preflight.h"
#include "tools/serve/supervisor.h"
#include <stdio.h>
#include <stdlib.h>

int serve_main(int argc, char **argv)
{
    struct config config;
    struct fault fault;
    bool exit_now;
    supervisor_block_signals();
    enum status status =
        config_load(&config, CONFIG_SERVE, argc, argv, &exit_now, &fault);
    if (status == STATUS_OK && exit_now)
        return EXIT_SUCCESS;
    if (status == STATUS_OK) {
        log_init("ropeway-serve", log_level_of(config.log_level));
        status = preflight(&config, &fault);
    }
    if (status != STATUS_OK) {
        fprintf(stderr, "ropeway serve: %s\n", fault.sentence);
        return EXIT_OPTIONS;
    }
    return supervise(&config);
}
