#include "tools/serve/notify.h"

#include "common/os/log.h"
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_send(const char *lines)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || (path[0] != '/' && path[0] != '@'))
        return;
    size_t size = strlen(path);
    if (size >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, size);
    /* An abstract name begins with a NUL, which systemd writes as '@'. */
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (file < 0)
        return;
    socklen_t address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    if (sendto(file, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT,
               (struct sockaddr *)&address, address_size) < 0)
        log_warn("systemd was not told %s: %s", lines, strerror(errno));
    close(file);
}
