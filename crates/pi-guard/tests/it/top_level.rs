//! A day of work at the top of a repository: sixty commands, each in a new workspace, on every level
//! and compared with the same command without a sandbox.

use std::fs;

use pi_guard::confine::{Confinement, ConfinementLevel, Mode, Network};

use crate::env::{TestEnv, confined, levels, measured, not_tested, text};

/// The levels on which a command works.
#[derive(Clone, Copy, PartialEq)]
enum Works {
    Everywhere,
    /// The command needs `/tmp`, shared memory, a new terminal or the loopback network.
    WithBubblewrap,
}
use Works::{Everywhere, WithBubblewrap};

const COMMANDS: [(Works, &str); 60] = [
    // Files at the top level.
    (Everywhere, "echo hello > new.txt && cat new.txt"),
    (Everywhere, "mkdir -p out/a/b && touch out/a/b/c && rm -r out"),
    (Everywhere, "mv README notes && cp notes README2 && rm notes"),
    (Everywhere, "ln -s README link && ln README hard && test link -ef hard"),
    (Everywhere, "printf '#!/bin/sh\necho ran\n' > run.sh && chmod +x run.sh && ./run.sh"),
    (Everywhere, "sed -i s/read/READ/ README && grep READ README"),
    (Everywhere, "tar -czf all.tgz README src && rm -r src && tar -xzf all.tgz && test -d src"),
    (Everywhere, "zip -q -r all.zip src && unzip -q -o all.zip"),
    (Everywhere, "cat > text <<'END'\none\ntwo\nEND\nwc -l < text"),
    (Everywhere, "grep -c read <<< 'read me' && read -r line < README && echo \"$line\" > copy"),
    (Everywhere, "truncate -s 1M big && dd if=big of=copy bs=64k 2>/dev/null && cmp big copy"),
    (Everywhere, "find . -name '*.c' -print0 | xargs -0 wc -l > counts"),
    (Everywhere, "sort -u README > sorted && awk '{print $1}' sorted | uniq -c > words"),
    (Everywhere, "split -l 1 README part. && cat part.* > joined && cmp README joined"),
    (Everywhere, "f=$(mktemp) && echo x > $f && mv $f kept && d=$(mktemp -d) && touch $d/x"),
    (Everywhere, "diff -u README src/main.c > patch || patch -R src/main.c patch"),
    (Everywhere, "touch -d yesterday README && stat README && chmod 600 README"),
    (Everywhere, "export A=1 && env | grep ^A= > vars && tee copy < vars > /dev/null"),
    (Everywhere, "(sleep 0.01; echo late > late) & wait && cat late"),
    (Everywhere, "seq 8 | xargs -P 4 -I{} touch f{} && ls f* | wc -l | grep 8"),
    (Everywhere, "timeout 5 sh -c 'flock .lock true' && jobs && type bash"),
    (Everywhere, "mkfifo p && (echo x > p &) && grep x p && rm p"),
    (Everywhere, "rsync -a src/ copy/ && du -sh copy && df . > space"),
    (
        Everywhere,
        "base64 README > b && base64 -d b | cmp - README && sha256sum README > sum && sha256sum -c sum",
    ),
    // Git.
    (Everywhere, "git status --short && git log --oneline && git diff"),
    (Everywhere, "echo x > a && git add a && git commit -qm a && git show --stat"),
    (
        Everywhere,
        "git switch -qc side && echo x > a && git add . && git commit -qm a && git switch -q -",
    ),
    (
        Everywhere,
        "git checkout -q -b side && git branch --list && git branch -m side other 2>/dev/null; git checkout -q -",
    ),
    (
        Everywhere,
        "echo x >> README && git stash -q && git stash pop -q && git diff --stat | grep README",
    ),
    (
        Everywhere,
        "git switch -qc side && echo x > a && git add a && git commit -qm a && git switch -q - && echo y > b && git add b && git commit -qm b && git merge -q -m merged side",
    ),
    (
        Everywhere,
        "git switch -qc side && echo x > a && git add a && git commit -qm a && git switch -q - && echo y > b && git add b && git commit -qm b && git rebase -q side",
    ),
    (Everywhere, "git tag v1 && git tag -l && git describe --tags"),
    (
        Everywhere,
        "echo x > a && git add a && git commit -qm a && git revert --no-edit HEAD && git reset -q --hard HEAD~1",
    ),
    (Everywhere, "git worktree add -q tree && git -C tree status && git worktree remove tree"),
    (
        Everywhere,
        "git init -q sub && git -C sub commit -q --allow-empty -m x && git clone -q sub sub2",
    ),
    (
        Everywhere,
        "git mv README R && git rm -q src/main.c && git commit -qm moved && git gc -q && git fsck",
    ),
    (
        Everywhere,
        "echo x >> README && git commit -qam x && git format-patch -1 && git reset -q --hard HEAD~1 && git am -q 0001*.patch",
    ),
    (Everywhere, "git archive HEAD | tar -t && git grep -n main && git blame README"),
    (
        Everywhere,
        "for n in 1 2 3; do git commit -q --allow-empty -m $n; done; GIT_SEQUENCE_EDITOR=true git rebase -q -i HEAD~2 && git cherry-pick --allow-empty HEAD",
    ),
    // Compilers and builds.
    (Everywhere, "gcc src/main.c -o prog && ./prog"),
    (Everywhere, "make && ./prog && make clean"),
    (Everywhere, "gcc -c src/main.c && ar rcs lib.a main.o && nm lib.a"),
    (Everywhere, "cargo build -q --offline && cargo run -q --offline"),
    (Everywhere, "cargo test -q --offline && cargo check -q --offline && cargo clean -q"),
    (Everywhere, "rustc --version > v && echo 'fn main(){}' > a.rs && rustc a.rs && ./a"),
    (
        Everywhere,
        "cmake --version && printf 'cmake_minimum_required(VERSION 3.10)\nproject(a C)\nadd_executable(a src/main.c)\n' > CMakeLists.txt && cmake -B build && cmake --build build",
    ),
    // Interpreters.
    (Everywhere, "python3 -m venv --without-pip venv && venv/bin/python -c 'print(1)'"),
    (Everywhere, "pip --version || python3 -m pip --version"),
    (
        Everywhere,
        "printf 'import unittest\nclass T(unittest.TestCase):\n  def test(self): pass\n' > test_a.py && python3 -m unittest -q",
    ),
    (
        Everywhere,
        "python3 -c 'import sqlite3; c = sqlite3.connect(\"a.db\"); c.execute(\"create table t(x)\"); c.commit()'",
    ),
    (
        Everywhere,
        "python3 -c 'import tempfile, subprocess; tempfile.mkdtemp(); subprocess.check_call([\"true\"])' && python3 -m json.tool < package.json > p.json",
    ),
    (Everywhere, "python3 -m compileall -q . && perl -pi -e 's/read/r/' README"),
    (Everywhere, "node -e 'require(\"fs\").writeFileSync(\"a\", \"x\")' && node -p 1+1"),
    (Everywhere, "npm_config_cache=$PWD/.npm npm run -s hi"),
    (
        Everywhere,
        "npm_config_cache=$PWD/.npm npm install --offline --no-audit && npm_config_cache=$PWD/.npm npm test",
    ),
    // What Landlock alone cannot give.
    (
        WithBubblewrap,
        "python3 -u -m http.server 0 --bind 127.0.0.1 > log 2>&1 & until port=$(grep -o 'port [0-9]*' log); do kill -0 $! || exit 1; done; curl -sf http://localhost:${port#port }/README; code=$?; kill %1; exit $code",
    ),
    (WithBubblewrap, "echo x > /tmp/pi-everyday-$$ && grep x /tmp/pi-everyday-$$"),
    (
        WithBubblewrap,
        "python3 -c 'from multiprocessing import Pool\nif __name__ == \"__main__\":\n  print(sum(Pool(2).map(abs, range(9))))'",
    ),
    (WithBubblewrap, "script -qec 'tty' /dev/null | grep pts"),
    (Everywhere, "ps ax > processes && uname -a && id && nproc && date"),
];

fn workspace() -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir_all(env.path("top/src")).unwrap();
    for (name, content) in [
        ("README", "read me\nread this too\n"),
        ("src/main.c", "#include <stdio.h>\nint main(void) { puts(\"hi\"); return 0; }\n"),
        ("Cargo.toml", "[package]\nname = \"tiny\"\nedition = \"2024\"\n[workspace]\n"),
        ("src/main.rs", "fn main() {}\n#[test]\nfn works() {}\n"),
        ("Makefile", "prog: src/main.c\n\tcc $< -o $@\nclean:\n\trm -f prog\n"),
        (
            "package.json",
            "{\"name\": \"a\", \"scripts\": {\"hi\": \"echo hi\", \"test\": \"node -e 1\"}}\n",
        ),
    ] {
        fs::write(env.path("top").join(name), content).unwrap();
    }
    let setup = "git init -q . && git config user.name me && git config user.email me@here && \
        git add . && git commit -qm first";
    let output = env.run(None, "top", setup);
    assert!(output.status.success(), "{}", text(&output));
    env
}

#[test]
fn a_day_of_work_is_possible() {
    let mut possible = Vec::new();
    for (works, command) in COMMANDS {
        let output = workspace().run(None, "top", command);
        if output.status.success() {
            possible.push((works, command));
        } else {
            not_tested(&format!("{command:?}, which fails without a sandbox: {}", text(&output)));
        }
    }
    for (level, machine) in levels() {
        let mut worked = 0;
        let mut wrong = Vec::new();
        for (works, command) in &possible {
            let env = workspace();
            let mode = Mode::WorkspaceWrite {
                workspace: env.path("top"),
                extra_roots: Vec::new(),
                private_tmp: Some(env.path("tmp")),
            };
            let confined = confined(&Confinement::new(mode, Network::Off), &machine);
            confined.record_repositories();
            let output = env.run(Some(&confined), "top", command);
            let left = confined.disable_leftovers(true);
            worked += usize::from(output.status.success());
            let expected = *works == Everywhere || level == ConfinementLevel::Bubblewrap;
            if output.status.success() != expected || !left.is_empty() {
                wrong.push(format!("{command}\n  {} {left:?}", text(&output)));
            }
            confined.remove_covers();
            let state = env.run(None, "top", "git status --short .git .pi .agents; ls -A .git");
            assert!(!text(&state).contains("commondir"), "{level}: {command}");
        }
        measured(&format!("{level}: {worked} of {} commands work", possible.len()));
        assert!(wrong.is_empty(), "{level}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}
