//! Ordinary work that must be possible in the sandbox: real programs, on every level that the
//! machine offers.

use std::process::Command;

use pi_guard::confine::ConfinementLevel;

use crate::env::{TestEnv, confined, levels, not_tested, text};

/// The levels on which a command works.
#[derive(Clone, Copy, PartialEq)]
enum Works {
    /// Every level.
    Everywhere,
    /// Only bubblewrap: the command insists on `/tmp`, on shared memory or on a new terminal, or uses
    /// the loopback network. Landlock alone refuses these.
    WithBubblewrap,
}
use Works::{Everywhere, WithBubblewrap};

/// The program that a script needs, and a script that runs in a directory of the workspace.
const COMMANDS: &[(&str, Works, &str)] = &[
    // Files.
    ("sh", Everywhere, "echo hello > a && test \"$(cat a)\" = hello"),
    ("mkdir", Everywhere, "mkdir -p a/b/c && touch a/b/c/d && rm -r a && ! test -e a"),
    ("mv", Everywhere, "mkdir a b && touch a/x && mv a/x b/y && test -e b/y"),
    ("mv", Everywhere, "mkdir a b && touch a/x && mv a b/ && test -e b/a/x"),
    ("cp", Everywhere, "mkdir a && touch a/x && cp -a a b && test -e b/x"),
    ("ln", Everywhere, "touch a && ln -s a b && ln a c && test -e b && test a -ef c"),
    (
        "chmod",
        Everywhere,
        "printf '#!/bin/sh\\necho ran' > run && chmod +x run && ./run | grep ran",
    ),
    ("install", Everywhere, "echo x > a && install -D -m 755 a out/bin/a && test -x out/bin/a"),
    ("sed", Everywhere, "echo one > a && sed -i s/one/two/ a && grep two a"),
    ("truncate", Everywhere, "truncate -s 1M a && test $(stat -c %s a) = 1048576"),
    ("touch", Everywhere, "touch -d 2001-01-01 a && ls -l a"),
    ("mkfifo", Everywhere, "mkfifo p && (echo x > p &) && grep x p"),
    ("tar", Everywhere, "echo x > a && tar -czf a.tgz a && rm a && tar -xzf a.tgz && grep x a"),
    (
        "find",
        Everywhere,
        "touch a.c b.c && test $(find . -name '*.c' -exec echo {} \\; | wc -l) = 2",
    ),
    ("rsync", Everywhere, "mkdir a && touch a/x && rsync -a a/ b/ && test -e b/x"),
    ("diff", Everywhere, "echo 1 > a; echo 2 > b; diff -u a b > p; patch a p && cmp a b"),
    ("dd", Everywhere, "dd if=/dev/zero of=a bs=1k count=4 2>/dev/null && test -s a"),
    ("flock", Everywhere, "flock lock true"),
    // The home is writable below its top directory.
    ("sh", Everywhere, "echo x > $HOMEDIR/project/a && cat $HOMEDIR/project/a"),
    // Shells.
    ("seq", Everywhere, "seq 1000 | sort -rn | head -1 | grep 1000"),
    ("bash", Everywhere, "diff <(echo a) <(echo a)"),
    ("bash", Everywhere, "cat <<EOF | grep middle\nstart\nmiddle\n$(seq 30000)\nEOF"),
    ("bash", Everywhere, "(sleep 0.01; echo late) & wait; kill -0 $$"),
    ("bash", Everywhere, "sleep 30 & kill $! && ! wait $!"),
    ("bash", Everywhere, "trap 'echo caught; exit 0' TERM; kill $$; exit 1"),
    ("timeout", Everywhere, "timeout 0.05 sleep 10; test $? = 124"),
    ("xargs", Everywhere, "seq 8 | xargs -P 4 -n 1 echo | wc -l | grep 8"),
    ("tee", Everywhere, "echo x | tee a > /dev/null && grep x a && echo y > /dev/stderr"),
    (
        "mktemp",
        Everywhere,
        "f=$(mktemp) && echo x > $f && grep x $f && rm $f && d=$(mktemp -d) && touch $d/x",
    ),
    ("sh", WithBubblewrap, "echo x > /tmp/fixed-name && grep x /tmp/fixed-name"),
    ("env", Everywhere, "env | grep ^PATH= && env | grep ^HOME="),
    ("setsid", Everywhere, "setsid -w true && nohup true"),
    ("id", Everywhere, "id && id -g"),
    ("ps", Everywhere, "ps ax > /dev/null"),
    // Landlock alone cannot tell a new terminal from those of the user.
    ("script", WithBubblewrap, "script -qec 'tty; echo on a terminal' /dev/null | grep terminal"),
    ("sh", Everywhere, "echo x > $WS/new && mkdir $WS/build && mv $WS/new $WS/build/"),
    // Git.
    (
        "git",
        Everywhere,
        "git init -q . && git config user.name me && git config user.email me@here",
    ),
    (
        "git",
        Everywhere,
        "git init -q . && echo x > a && git add a && git -c user.name=me -c user.email=m@h commit -qm one && git log --oneline | grep one",
    ),
    (
        "git",
        Everywhere,
        "git init -q . && echo x > a && git add a && git -c user.name=me -c user.email=m@h commit -qm one && git checkout -qb other && echo y > a && git diff | grep +y && git stash -q 2>/dev/null; git switch -q -",
    ),
    (
        "git",
        Everywhere,
        "git init -q a && cd a && touch x && git add x && git -c user.name=me -c user.email=m@h commit -qm one && cd .. && git clone -q a b && test -e b/x",
    ),
    (
        "git",
        Everywhere,
        "git init -q a && cd a && touch x && git add x && git -c user.name=me -c user.email=m@h commit -qm one && git worktree add -q ../b && git gc -q && git tag v1",
    ),
    ("git", Everywhere, "cd $WS && git status --short | grep src"),
    (
        "git",
        Everywhere,
        "cd $WS && git add src && git -c user.name=me -c user.email=m@h commit -qm one && git log --oneline | grep one",
    ),
    (
        "git",
        Everywhere,
        "cd $WS && C='-c user.name=me -c user.email=m@h' && git add src && git $C commit -qm one && echo y >> src/mine && git $C stash -q && git stash pop -q && git $C commit -qam two && git checkout -q -b side HEAD~1 && echo z > src/z && git add src/z && git $C commit -qm three && git $C rebase -q - && git tag v1 && git reset -q --hard HEAD~1 && git worktree add -q src/tree && git worktree remove src/tree && git gc -q && git fsck",
    ),
    // Compilers and builds.
    ("cc", Everywhere, "echo 'int main(void){return 0;}' > a.c && cc a.c -o a && ./a"),
    (
        "ar",
        Everywhere,
        "echo 'int f(void){return 0;}' > a.c && cc -c a.c && ar rcs liba.a a.o && nm liba.a | grep f",
    ),
    (
        "make",
        Everywhere,
        "printf 'all: a b\\na b:\\n\\ttouch $@\\n' > Makefile && make -j4 && test -e b",
    ),
    (
        "cmake",
        Everywhere,
        "printf 'cmake_minimum_required(VERSION 3.10)\\nproject(a C)\\nadd_executable(a a.c)\\n' > CMakeLists.txt && echo 'int main(void){return 0;}' > a.c && cmake -B build > /dev/null && cmake --build build && build/a",
    ),
    (
        "cargo",
        Everywhere,
        "mkdir -p tiny/src && cd tiny && printf '[package]\\nname = \"tiny\"\\nversion = \"0.1.0\"\\nedition = \"2024\"\\n[workspace]\\n' > Cargo.toml && echo 'fn main() { println!(\"Hello\") }' > src/main.rs && cargo build --quiet --offline && cargo run --quiet --offline | grep Hello",
    ),
    (
        "cargo",
        Everywhere,
        "mkdir -p tiny/src && cd tiny && printf '[package]\\nname = \"tiny\"\\nversion = \"0.1.0\"\\nedition = \"2024\"\\n[workspace]\\n' > Cargo.toml && echo '#[test] fn works() {}' > src/lib.rs && cargo test --quiet --offline | grep 'test result: ok'",
    ),
    ("rustc", Everywhere, "echo 'fn main(){}' > a.rs && rustc a.rs && ./a"),
    (
        "go",
        Everywhere,
        "go mod init tiny && echo 'package main\nfunc main(){}' > a.go && GOCACHE=$PWD/.c GOFLAGS=-mod=mod go build -o a && ./a",
    ),
    (
        "cargo",
        Everywhere,
        "mkdir -p one/src two/src && printf '[workspace]\\nmembers = [\"one\", \"two\"]\\nresolver = \"3\"\\n' > Cargo.toml && printf '[package]\\nname = \"two\"\\nedition = \"2024\"\\n' > two/Cargo.toml && touch two/src/lib.rs && printf '[package]\\nname = \"one\"\\nedition = \"2024\"\\n[dependencies]\\ntwo = { path = \"../two\" }\\n' > one/Cargo.toml && echo 'fn main() {}' > one/src/main.rs && cargo check --quiet --offline && cargo metadata --offline --format-version 1 > /dev/null && cargo clean --quiet",
    ),
    // Interpreters.
    (
        "python3",
        Everywhere,
        "python3 -c 'import json,sqlite3,subprocess; subprocess.check_call([\"true\"])'",
    ),
    (
        "python3",
        Everywhere,
        "python3 -m venv --without-pip v && v/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'",
    ),
    (
        "python3",
        Everywhere,
        "echo 'import unittest\nclass T(unittest.TestCase):\n  def test(self): pass' > test_a.py && python3 -m unittest -q test_a",
    ),
    (
        "python3",
        Everywhere,
        "python3 -c 'import tempfile; f=tempfile.NamedTemporaryFile(); f.write(b\"x\")'",
    ),
    (
        "python3",
        Everywhere,
        "python3 -c 'import sqlite3; c=sqlite3.connect(\"a.db\"); c.execute(\"create table t(x)\"); c.commit()'",
    ),
    ("python3", Everywhere, "python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0))'"),
    (
        "python3",
        Everywhere,
        "python3 -c 'from concurrent.futures import ThreadPoolExecutor as T; print(sum(T().map(abs, range(9))))'",
    ),
    (
        "python3",
        WithBubblewrap,
        "python3 -c 'from multiprocessing import Pool\nif __name__ == \"__main__\":\n  print(sum(Pool(2).map(abs, range(9))))'",
    ),
    (
        "python3",
        WithBubblewrap,
        "python3 -c 'import socket; s=socket.create_server((\"127.0.0.1\", 0)); c=socket.create_connection(s.getsockname()); s.accept()'",
    ),
    (
        "pytest",
        Everywhere,
        "echo 'def test(tmp_path): (tmp_path/\"a\").write_text(\"x\")' > test_a.py && pytest -q -p no:cacheprovider",
    ),
    (
        "perl",
        Everywhere,
        "perl -e 'open F, \">a\"; print F 1; close F; system(\"true\") == 0 or die'",
    ),
    (
        "node",
        Everywhere,
        "node -e 'require(\"fs\").writeFileSync(\"a\", \"x\"); require(\"child_process\").execSync(\"cat a\")'",
    ),
    (
        "npm",
        Everywhere,
        "echo '{\"name\":\"a\",\"scripts\":{\"hi\":\"echo hi\"}}' > package.json && npm_config_cache=$PWD/.c npm run -s hi | grep hi",
    ),
    (
        "npm",
        Everywhere,
        "mkdir dep && echo '{\"name\":\"dep\",\"version\":\"1.0.0\"}' > dep/package.json && echo '{\"name\":\"a\",\"scripts\":{\"test\":\"node -e 1\"}}' > package.json && export npm_config_cache=$PWD/.c && npm install --offline --no-audit ./dep && npm test && npm ci --offline --no-audit",
    ),
    (
        "node",
        Everywhere,
        "echo 'if (process.send) process.send(1); else require(\"child_process\").fork(__filename).on(\"message\", () => process.exit(0))' > a.js && node a.js",
    ),
    (
        "node",
        Everywhere,
        "node -e 'const {Worker} = require(\"worker_threads\"); new Worker(\"1\", {eval: true}).on(\"exit\", c => process.exit(c))'",
    ),
    (
        "node",
        Everywhere,
        "node -e 'const fs = require(\"fs\"); fs.watch(\".\", () => process.exit(0)); setInterval(() => fs.writeFileSync(\"w\", \"x\"), 20)'",
    ),
    (
        "node",
        WithBubblewrap,
        "node -e 'const h = require(\"http\"); const s = h.createServer((q, r) => r.end(\"ok\")).listen(0, \"127.0.0.1\", () => h.get({port: s.address().port}, r => r.on(\"data\", () => process.exit(0))))'",
    ),
    (
        "curl",
        WithBubblewrap,
        "python3 -u -m http.server 0 --bind 127.0.0.1 > log 2>&1 & until port=$(grep -o 'port [0-9]*' log); do kill -0 $! || exit 1; done; curl -sf http://localhost:${port#port }/ | grep log; code=$?; kill %1; exit $code",
    ),
    (
        "python3",
        WithBubblewrap,
        "python3 -c 'from multiprocessing import Process, Queue, set_start_method\nif __name__ == \"__main__\":\n  set_start_method(\"fork\"); q = Queue(); p = Process(target=q.put, args=(1,)); p.start(); assert q.get() == 1; p.join()'",
    ),
    (
        "python3",
        WithBubblewrap,
        "python3 -c 'from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=9); m.unlink()'",
    ),
    (
        "python3",
        Everywhere,
        "python3 -c 'import asyncio\nasync def main():\n  p = await asyncio.create_subprocess_exec(\"true\"); assert await p.wait() == 0\nasyncio.run(main())'",
    ),
    (
        "python3",
        Everywhere,
        "python3 -c 'import sqlite3; c = sqlite3.connect(\"a.db\"); c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table t(x)\"); c.commit()'",
    ),
    ("seq", Everywhere, "test $(seq 300000 | wc -c) = 1988895"),
    ("mkfifo", Everywhere, "mkfifo a b && (cat a > b &) && (echo x > a &) && grep x b"),
    (
        "flock",
        Everywhere,
        "exec 9> l && flock 9 && ! flock -n l true && flock -u 9 && flock -n l true",
    ),
    ("bash", Everywhere, "trap 'exit 0' USR1; (sleep 0.05; kill -USR1 $$) & wait; sleep 5; exit 1"),
    ("getent", Everywhere, "getent passwd $(id -u) && getent hosts localhost"),
    ("uname", Everywhere, "uname -a && nproc && df . && date && cat /proc/meminfo > /dev/null"),
    ("sh", Everywhere, "umask 077 && echo x > a && test $(stat -c %a a) = 600"),
    (
        "bash",
        Everywhere,
        "exec 3<>a && echo x >&3 && exec 3>&- && grep x a && echo y > /dev/stdout",
    ),
    ("awk", Everywhere, "seq 3 | awk '{s+=$1} END {exit s != 6}'"),
    // Editors write beside the file and rename.
    (
        "vim",
        Everywhere,
        "echo one > a && vim -es -u NONE -i NONE -c 's/one/two/' -c wq a; grep two a",
    ),
    (
        "ed",
        WithBubblewrap,
        "echo one > a && printf 's/one/two/\\nw\\nq\\n' | ed -s a && grep two a",
    ),
    ("sh", Everywhere, "echo x > .a.swp && mv .a.swp a && ln -s me@here.1:1 '.#a' && rm '.#a'"),
];

fn is_installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", "command -v \"$0\"", program]).output().unwrap();
    found.status.success()
}

#[test]
fn ordinary_commands_work_in_the_sandbox() {
    for (level, machine) in levels() {
        let mut worked = 0;
        let mut broken = Vec::new();
        for (program, works, script) in COMMANDS {
            if !is_installed(program) {
                not_tested(&format!("{script:?}: {program} is not installed"));
                continue;
            }
            let env = TestEnv::new();
            let confined = confined(&env.confinement(), &machine);
            confined.record_repositories();
            let output = env.run(Some(&confined), "ws/project", script);
            let left = confined.disable_leftovers(true);
            let expected = *works == Everywhere || level == ConfinementLevel::Bubblewrap;
            if output.status.success() != expected {
                broken.push(format!("{script}\n  (worked: {}) {}", !expected, text(&output)));
            }
            if !left.is_empty() {
                broken.push(format!("{script}\n  {left:?}"));
            }
            worked += usize::from(output.status.success());
        }
        assert!(broken.is_empty(), "{level}: {} broken:\n{}", broken.len(), broken.join("\n"));
        assert!(worked >= 40, "{level}: only {worked} commands");
    }
}
