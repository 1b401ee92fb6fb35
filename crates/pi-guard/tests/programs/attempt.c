// Attempts to escape that a shell cannot make: `attempt NAME [ARGUMENT…]` exits with 0 if the
// attempt succeeded and with 1 if it was refused. The tests compile this file.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define IS(text) (strcmp(name, text) == 0)
#define NUMBER(n) (argc > (n) ? atol(argv[n]) : 0)
#define TEXT(n) (argc > (n) ? argv[n] : "")

static int end(long result) {
    if (result < 0) perror("refused");
    return result < 0;
}

static socklen_t address(struct sockaddr_un *to, const char *path, int abstract) {
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    strncpy(to->sun_path + abstract, path, sizeof to->sun_path - 2);
    return offsetof(struct sockaddr_un, sun_path) + abstract + strlen(path);
}

static int reach(int domain, int type, long port) {
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    six.sin6_addr = in6addr_loopback;
    int s = socket(domain, type, 0);
    if (s < 0) return end(s);
    void *to = domain == AF_INET ? (void *)&four : (void *)&six;
    socklen_t size = domain == AF_INET ? sizeof four : sizeof six;
    if (connect(s, to, size) < 0) return end(-1);
    if (send(s, "x", 1, 0) < 0) return end(-1);
    char answer;  // the answer shows that the right service was reached
    struct timeval soon = {.tv_sec = 1};
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    return end(recv(s, &answer, 1, 0) == 1 ? 0 : -1);
}

static int nothing(void *unused) {
    (void)unused;
    return 0;
}

int main(int argc, char **argv) {
    const char *name = TEXT(1);
    char byte = 0;
    struct sockaddr_un to;
    socklen_t size;

    // Files.
    if (IS("open-truncate")) return end(open(TEXT(2), O_RDONLY | O_TRUNC));
    if (IS("open-write")) return end(open(TEXT(2), O_WRONLY));
    if (IS("hold-terminal")) {  // a terminal of another program: its name, until the input ends
        int master = posix_openpt(O_RDWR | O_NOCTTY);
        if (master < 0 || grantpt(master) || unlockpt(master)) return end(-1);
        int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
        if (terminal < 0) return end(-1);
        puts(ptsname(master));
        fflush(stdout);
        return getchar() != EOF;
    }
    if (IS("new-set-id")) {  // a new file whose mode is given when it is opened
        const char *how = TEXT(2), *path = TEXT(3);
        long mode = strtol(TEXT(4), 0, 8), file = -1;
        struct { unsigned long long flags, mode, resolve; } how2 = {O_CREAT | O_WRONLY, mode, 0};
        if (!strcmp(how, "open")) file = syscall(SYS_open, path, O_CREAT | O_WRONLY, mode);
        if (!strcmp(how, "creat")) file = syscall(SYS_creat, path, mode);
        if (!strcmp(how, "openat")) file = syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY, mode);
        if (!strcmp(how, "openat2")) file = syscall(SYS_openat2, AT_FDCWD, path, &how2, sizeof how2);
        if (!strcmp(how, "unnamed")) file = open(path, O_TMPFILE | O_WRONLY, mode);
        struct stat made;
        if (file < 0 || fstat(file, &made)) return end(-1);
        return !(made.st_mode & 06000);
    }
    if (IS("open-read")) return end(open(TEXT(2), O_RDONLY));
    if (IS("truncate")) return end(truncate(TEXT(2), 0));
    if (IS("exchange")) return end(renameat2(AT_FDCWD, TEXT(2), AT_FDCWD, TEXT(3), RENAME_EXCHANGE));
    if (IS("whiteout")) return end(renameat2(AT_FDCWD, TEXT(2), AT_FDCWD, TEXT(3), 4));
    if (IS("mknod-block")) return end(mknod(TEXT(2), S_IFBLK | 0600, 0x700));
    if (IS("mknod-char")) return end(mknod(TEXT(2), S_IFCHR | 0600, 0x101));
    if (IS("bind-socket")) {
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        size = address(&to, TEXT(2), 0);
        return s < 0 ? end(s) : end(bind(s, (struct sockaddr *)&to, size));
    }
    if (IS("unnamed")) {  // a file without a name, given one afterwards
        int file = open(TEXT(2), O_TMPFILE | O_WRONLY, 0600);
        if (file < 0) return end(file);
        char self[64];
        snprintf(self, sizeof self, "/proc/self/fd/%d", file);
        return end(linkat(AT_FDCWD, self, AT_FDCWD, TEXT(3), AT_SYMLINK_FOLLOW));
    }
    if (IS("link-descriptor")) {  // a read-only descriptor, opened again for writing
        int file = open(TEXT(2), O_RDONLY);
        if (file < 0) return end(file);
        char self[64];
        snprintf(self, sizeof self, "/proc/self/fd/%d", file);
        return end(open(self, O_WRONLY));
    }
    if (IS("path-descriptor")) {
        int file = open(TEXT(2), O_PATH);
        if (file < 0) return end(file);
        char self[64];
        snprintf(self, sizeof self, "/proc/self/fd/%d", file);
        return end(open(self, O_WRONLY | O_APPEND));
    }
    if (IS("inherited-directory")) return end(openat(NUMBER(2), "file", O_RDONLY));
    if (IS("inherited-write")) return end(write(NUMBER(2), "x", 1));
    if (IS("handle")) {
        struct { struct file_handle head; char space[128]; } handle = {.head.handle_bytes = 128};
        int mount;
        if (name_to_handle_at(AT_FDCWD, TEXT(2), &handle.head, &mount, 0) < 0) return end(-1);
        int root = open(TEXT(3), O_RDONLY);
        return end(open_by_handle_at(root, &handle.head, O_WRONLY));
    }
    if (IS("set-flags")) {
        int file = open(TEXT(2), O_RDONLY);
        long flags = 0x40;  // no dump
        return file < 0 ? end(file) : end(ioctl(file, 0x40086602, &flags));
    }

    // Programs without a name.
    if (IS("execute-descriptor") || IS("execute-memory")) {
        char *arguments[] = {"x", argc > 3 ? argv[3] : NULL, NULL};
        int file = open(TEXT(2), IS("execute-memory") ? O_RDONLY : O_PATH);
        if (file < 0) return end(file);
        if (IS("execute-memory")) {
            char part[65536];
            int memory = memfd_create("x", 0);
            for (ssize_t count; (count = read(file, part, sizeof part)) > 0;)
                if (write(memory, part, count) != count) return end(-1);
            file = memory;
        }
        return end(syscall(SYS_execveat, file, "", arguments, environ, AT_EMPTY_PATH));
    }

    // Processes.
    if (IS("kill")) return end(kill(NUMBER(2), SIGTERM));
    if (IS("tgkill")) return end(syscall(SYS_tgkill, NUMBER(2), NUMBER(2), SIGTERM));
    if (IS("queue")) return end(sigqueue(NUMBER(2), SIGTERM, (union sigval){0}));
    if (IS("pidfd-signal")) {
        int process = syscall(SYS_pidfd_open, NUMBER(2), 0);
        return process < 0 ? end(process)
                           : end(syscall(SYS_pidfd_send_signal, process, SIGTERM, NULL, 0));
    }
    if (IS("pidfd-getfd")) {
        int process = syscall(SYS_pidfd_open, NUMBER(2), 0);
        return process < 0 ? end(process) : end(syscall(SYS_pidfd_getfd, process, 1, 0));
    }
    if (IS("ptrace-attach")) return end(ptrace(PTRACE_ATTACH, NUMBER(2), 0, 0));
    if (IS("ptrace-seize")) return end(ptrace(PTRACE_SEIZE, NUMBER(2), 0, 0));
    if (IS("ptrace-me")) return end(ptrace(PTRACE_TRACEME, 0, 0, 0));
    if (IS("vm-read") || IS("vm-write")) {
        struct iovec here = {&byte, 1}, there = {(void *)strtoul(TEXT(3), NULL, 16), 1};
        return end(IS("vm-read") ? process_vm_readv(NUMBER(2), &here, 1, &there, 1, 0)
                                 : process_vm_writev(NUMBER(2), &here, 1, &there, 1, 0));
    }
    if (IS("limit")) {
        struct rlimit limit = {1000, 1000};
        return end(prlimit(NUMBER(2), RLIMIT_NOFILE, &limit, NULL));
    }
    if (IS("kcmp")) return end(syscall(SYS_kcmp, NUMBER(2), getpid(), 2, 0, 0));
    if (IS("signal-by-pipe")) {  // the kernel sends the signal for this process
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) return end(-1);
        if (fcntl(pair[0], F_SETOWN, NUMBER(2)) < 0 || fcntl(pair[0], F_SETSIG, SIGTERM) < 0)
            return end(-1);
        fcntl(pair[0], F_SETFL, O_ASYNC);
        if (write(pair[1], "x", 1) != 1) return end(-1);
        char place[64], state[512];
        snprintf(place, sizeof place, "/proc/%ld/stat", NUMBER(2));
        for (int tries = 0; tries < 100; tries++) {
            int file = open(place, O_RDONLY);
            ssize_t count = file < 0 ? -1 : read(file, state, sizeof state - 1);
            state[count < 0 ? 0 : count] = 0;
            close(file);
            if (strstr(state, ") Z ")) return 0;
            usleep(5000);
        }
        return 1;
    }
    if (IS("group")) return end(setpgid(NUMBER(2), 0));
    if (IS("advise")) {
        int process = syscall(SYS_pidfd_open, NUMBER(2), 0);
        struct iovec there = {(void *)0x1000, 4096};
        return process < 0 ? end(process)
                           : end(syscall(SYS_process_madvise, process, &there, 1, 20, 0));
    }
    if (IS("tracer-of")) {  // an allowed tracer still needs the right to trace
        if (prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY) < 0) return end(-1);
        return end(ptrace(PTRACE_SEIZE, NUMBER(2), 0, 0));
    }
    if (IS("attach")) return end(shmat(NUMBER(2), NULL, 0) == (void *)-1 ? -1 : 0);
    if (IS("set-user")) return end(setresuid(65534, 65534, 65534));

    // Namespaces and mounts.
    if (IS("unshare")) return end(unshare(strtoul(TEXT(2), NULL, 16)));
    if (IS("clone")) {
        char stack[65536];
        int child = clone(nothing, stack + 65536, strtoul(TEXT(2), NULL, 16) | SIGCHLD, NULL);
        return end(child);
    }
    if (IS("clone3")) {
        unsigned long long arguments[11] = {strtoul(TEXT(2), NULL, 16), 0, 0, 0, SIGCHLD};
        long child = syscall(SYS_clone3, arguments, sizeof arguments);
        if (child == 0) _exit(0);
        return end(child);
    }
    if (IS("setns")) {
        int space = open(TEXT(2), O_RDONLY);
        return space < 0 ? end(space) : end(setns(space, 0));
    }
    if (IS("mount")) return end(mount("none", TEXT(2), "tmpfs", 0, NULL));
    if (IS("bind-mount")) return end(mount(TEXT(2), TEXT(3), NULL, MS_BIND, NULL));
    if (IS("remount")) return end(mount(NULL, TEXT(2), NULL, MS_REMOUNT | MS_BIND, NULL));
    if (IS("unmount")) return end(umount2(TEXT(2), MNT_DETACH));
    if (IS("chroot")) return end(chroot(TEXT(2)));
    if (IS("open-tree")) return end(syscall(SYS_open_tree, AT_FDCWD, TEXT(2), 1));
    if (IS("fsopen")) return end(syscall(SYS_fsopen, "tmpfs", 0));

    // The kernel.
    if (IS("io-uring")) {
        char parameters[256] = {0};
        return end(syscall(SYS_io_uring_setup, 1, parameters));
    }
    if (IS("bpf")) {
        struct { unsigned type, key, value, entries; char rest[112]; } map = {2, 4, 4, 1, {0}};
        return end(syscall(SYS_bpf, 0, &map, sizeof map));
    }
    if (IS("perf")) {
        struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof event};
        event.config = PERF_COUNT_SW_DUMMY;
        return end(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
    }
    if (IS("keyctl")) return end(syscall(SYS_keyctl, 0, -4, 1));
    if (IS("add-key")) return end(syscall(SYS_add_key, "user", "pi-test", "x", 1, -2));
    if (IS("userfault")) return end(syscall(SYS_userfaultfd, 0));
    if (IS("kernel-log")) return end(syscall(SYS_syslog, 10, NULL, 0));
    if (IS("hostname")) {
        char host[256];
        gethostname(host, sizeof host);
        return end(sethostname(host, strlen(host)));
    }
    if (IS("fanotify")) return end(syscall(SYS_fanotify_init, 0, 0));
    if (IS("type-on-terminal")) {
        int terminal = posix_openpt(O_RDWR | O_NOCTTY);
        grantpt(terminal);
        unlockpt(terminal);
        int other = open(ptsname(terminal), O_RDWR);
        return other < 0 ? end(other) : end(ioctl(other, TIOCSTI, "x"));
    }
#ifdef __x86_64__
    if (IS("iopl")) return end(syscall(SYS_iopl, 3));
#endif

    // Networks.
    if (IS("tcp")) return reach(AF_INET, SOCK_STREAM, NUMBER(2));
    if (IS("udp")) return reach(AF_INET, SOCK_DGRAM, NUMBER(2));
    if (IS("tcp6")) return reach(AF_INET6, SOCK_STREAM, NUMBER(2));
    if (IS("dns")) {
        struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(53)};
        inet_pton(AF_INET, "192.0.2.1", &server.sin_addr);
        int s = socket(AF_INET, SOCK_DGRAM, 0);
        return s < 0 ? end(s) : end(sendto(s, "x", 1, 0, (void *)&server, sizeof server));
    }
    if (IS("socket")) return end(socket(NUMBER(2), NUMBER(3), NUMBER(4)));
    if (IS("unix") || IS("abstract")) {
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        if (s < 0) return end(s);
        size = address(&to, TEXT(2), IS("abstract"));
        return end(connect(s, (struct sockaddr *)&to, size));
    }
    if (IS("pair-datagram")) {  // a connected pair can still send to other sockets
        int pair[2];
        if (socketpair(AF_UNIX, NUMBER(3), 0, pair) < 0) return end(-1);
        size = address(&to, TEXT(2), 0);
        return end(sendto(pair[0], "x", 1, 0, (struct sockaddr *)&to, size));
    }
    if (IS("pair")) {  // always allowed
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) return end(-1);
        return end(write(pair[0], "x", 1) == 1 && read(pair[1], &byte, 1) == 1 ? 0 : -1);
    }
    fprintf(stderr, "unknown attempt: %s\n", name);
    return 2;
}
