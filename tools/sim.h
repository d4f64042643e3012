/* sim.h - `ropeway sim --steps FILE`: runs a step file through the step scheduler.
 *
 * Layer:   tools (scheduler/core). No model and no clock: a request ends at its eos_after
 *          or its max_new_tokens, and a step lasts as long as --step-seconds says.
 */
#ifndef ROPEWAY_TOOLS_SIM_H
#define ROPEWAY_TOOLS_SIM_H

/* The subcommand; argv[0] is its name. Returns the process's exit code: 2 for options or
 * a file that will not do, with the sentence on standard error. */
int sim_main(int argc, char **argv);

#endif
