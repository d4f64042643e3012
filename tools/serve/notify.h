/* notify.h - tells systemd how the service does, by sd_notify's protocol: one datagram of
 * NAME=VALUE lines to the socket that NOTIFY_SOCKET names. */
#ifndef ROPEWAY_TOOLS_SERVE_NOTIFY_H
#define ROPEWAY_TOOLS_SERVE_NOTIFY_H

/* Nothing where no systemd asked for it; a failure is logged and changes nothing. */
void notify_send(const char *lines);

#endif
