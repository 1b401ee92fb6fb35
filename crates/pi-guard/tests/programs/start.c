// Starts programs in ways that shells do not: start HOW PROGRAM ARGUMENT...
// Under the name `git` or `git-SUBCOMMAND`, or without a known HOW, this is the program that is
// started: it adds its subcommand to the file $RAN.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *find(const char *name) {
    static char path[4096];
    char *places = strdup(getenv("PATH"));
    for (char *place = strtok(places, ":"); place; place = strtok(NULL, ":")) {
        snprintf(path, sizeof path, "%s/%s", place, name);
        if (access(path, X_OK) == 0) return path;
    }
    exit(90);
}

static int ended(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) return 91;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 92;
}

// Changes a word all the time: from the one that is permitted to the other and back.
static char *word;
static const char *wanted;
static void *change(void *unused) {
    for (;;) {
        memcpy(word, "status", 7);
        for (volatile int i = 0; i < 60; i++) {}
        strcpy(word, wanted);
        for (volatile int i = 0; i < 60; i++) {}
    }
    return unused;
}

static int race(const char *program, char **arguments, int rounds) {
    wanted = strdup(arguments[1]);
    word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    arguments[1] = word;
    pthread_t other;
    pthread_create(&other, NULL, change, NULL);
    for (int i = 0; i < rounds; i++) {
        pid_t child = fork();
        if (child == 0) {
            execve(program, arguments, environ);
            _exit(93);
        }
        ended(child);
    }
    return 0;
}

static void subcommand(const char *name, char **arguments) {
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    int at = arguments[0] ? 1 : 0;
    while (arguments[at] && arguments[at][0] == '-')
        at += arguments[at + 1] && (!strcmp(arguments[at], "-C") || !strcmp(arguments[at], "-c")) ? 2 : 1;
    const char *found = strncmp(base, "git-", 4) == 0 ? base + 4 : arguments[at] ? arguments[at] : "";
    FILE *ran = fopen(getenv("RAN"), "a");
    if (ran) fprintf(ran, "%s\n", found), fclose(ran);
}

// Like git, `stash push` starts another subcommand of the same program, and `alias` the one that
// follows.
static int own_part(int count, char **arguments) {
    static char *reset[] = {"git", "reset", "--hard", NULL};
    char **part = NULL;
    if (count > 2 && strcmp(arguments[1], "stash") == 0 && strcmp(arguments[2], "push") == 0) part = reset;
    if (count > 2 && strcmp(arguments[1], "alias") == 0) part = arguments + 1, part[0] = "git";
    if (!part) return 0;
    pid_t child = fork();
    if (child == 0) {
        execv(find("git"), part);
        _exit(97);
    }
    return ended(child);
}

int main(int count, char **arguments) {
    const char *how = count > 2 ? arguments[1] : "";
    char **rest = arguments + 2;
    if (strcmp(how, "execveat") == 0) {
        int program = open(find(rest[0]), O_PATH | O_CLOEXEC);
        syscall(SYS_execveat, program, "", rest, environ, AT_EMPTY_PATH);
        return 94;
    }
    if (strcmp(how, "vfork") == 0) {
        const char *program = find(rest[0]);
        pid_t child = vfork();
        if (child == 0) {
            execve(program, rest, environ);
            _exit(95);
        }
        return ended(child);
    }
    if (strcmp(how, "spawn") == 0) {
        pid_t child = -1;
        posix_spawnp(&child, rest[0], NULL, NULL, rest, environ);
        return ended(child);
    }
    if (strcmp(how, "private") == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        execvp(rest[0], rest);
        return 96;
    }
    if (strcmp(how, "race") == 0) return race(find(rest[0]), rest, 300);
    subcommand(arguments[0], arguments);
    return own_part(count, arguments);
}
