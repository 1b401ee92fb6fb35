//! Programs that are forbidden and called by every other name: real processes, every level.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pi_guard::confine::{DenialTarget, explain_denial};

use crate::bed::{Bed, confined, levels, text};

/// Scripts that run `cat` or get at what it is; the second says what must be there for it.
const SPELLINGS: &[(&str, &str)] = &[
    ("cat src/mine | grep mine", ""),
    ("/bin/cat src/mine | grep mine", ""),
    ("C=cat; $C src/mine | grep mine", ""),
    ("C=c; ${C}at src/mine | grep mine", ""),
    ("$(printf '\\143at') src/mine | grep mine", ""),
    ("eval $(echo Y2F0IHNyYy9taW5l | base64 -d) | grep mine", ""),
    ("(exec cat src/mine) | grep mine", ""),
    ("(exec -a other cat src/mine) | grep mine", ""),
    ("command cat src/mine | grep mine", ""),
    ("env cat src/mine | grep mine", ""),
    ("env -i /bin/cat src/mine | grep mine", ""),
    ("echo src/mine | xargs cat | grep mine", ""),
    ("find src -name mine -exec cat {} \\; | grep mine", ""),
    ("nice cat src/mine | grep mine", ""),
    ("timeout 5 cat src/mine | grep mine", ""),
    ("setsid -w cat src/mine | grep mine", ""),
    ("sh -c 'cat src/mine' | grep mine", ""),
    ("echo src/mine | (read f; cat $f) | grep mine", ""),
    ("PATH=/usr/bin; cat src/mine | grep mine", ""),
    ("ln -s $CAT src/l && src/l src/mine | grep mine", ""),
    ("printf '#!'$CAT'\\n' > src/s && chmod +x src/s && src/s | grep '#!'", ""),
    ("printf '#!/usr/bin/env cat\\nx' > src/s && chmod +x src/s && src/s | grep x", ""),
    (
        "python3 -c 'import subprocess; subprocess.run([\"cat\", \"src/mine\"], check=True)'",
        "python3",
    ),
    ("python3 -c 'import os; os.execv(os.environ[\"CAT\"], [\"x\", \"src/mine\"])'", "python3"),
    ("perl -e 'exec {$ENV{CAT}} \"x\", \"src/mine\"' | grep mine", "perl"),
    (
        "$(ls /lib64/ld-linux-*.so* /lib/ld-linux-*.so* 2>/dev/null | head -1) $CAT src/mine | grep mine",
        "",
    ),
    ("cp $CAT src/c && src/c src/mine | grep mine", ""),
    ("dd if=$CAT of=src/c 2>/dev/null && chmod +x src/c && src/c src/mine | grep mine", ""),
    (
        "tar -cf src/t -C / ${CAT#/} && tar -xOf src/t > src/c && chmod +x src/c && src/c src/mine | grep mine",
        "",
    ),
    ("head -c 4 $CAT | grep -a ELF", ""),
    ("head -c 4 /proc/self/root$CAT | grep -a ELF", ""),
    ("exec 9<$CAT && /proc/self/fd/9 src/mine | grep mine", ""),
    ("$A execute-descriptor $CAT src/mine | grep mine", ""),
    ("$A execute-memory $CAT src/mine | grep mine", ""),
];

/// The program, if it is one program and not one of many in the same file.
fn cat() -> Option<PathBuf> {
    let real = ["/usr/bin/cat", "/bin/cat"].iter().find_map(|path| fs::canonicalize(path).ok());
    let real = real.filter(|real| real.ends_with("cat"));
    if real.is_none() {
        eprintln!("NOT TESTED with a forbidden program: there is no cat of its own");
    }
    real
}

#[test]
fn a_forbidden_program_runs_under_no_name() {
    let Some(cat) = cat() else { return };
    for (script, needs) in SPELLINGS {
        let environment = [("CAT", cat.display().to_string())];
        let needed = format!("{needs} --version");
        let bed = Bed::new();
        if !needs.is_empty() && !bed.run(None, "ws", &needed, None, &[]).status.success() {
            eprintln!("NOT TESTED with {needs}, which is not here: {script}");
            continue;
        }
        let output = bed.run(None, "ws", script, None, &environment);
        assert!(output.status.success(), "{script}: {}", text(&output));
        for (level, machine) in levels() {
            let bed = Bed::new();
            let mut confinement = bed.confinement();
            confinement.forbidden_programs.push("/bin/cat".into());
            let confined = confined(&confinement, &machine);
            let output = bed.run(Some(&confined), "ws", script, None, &environment);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            assert!(!text(&output).contains("mine\n"), "{level}, {script}: {}", text(&output));
        }
    }
}

#[test]
fn everything_else_runs_and_the_refusal_is_explained() {
    let Some(cat) = cat() else { return };
    for (level, machine) in levels() {
        let bed = Bed::new();
        let mut confinement = bed.confinement();
        confinement.forbidden_programs.push(cat.clone());
        confinement.forbidden_programs.push("/nowhere/tool".into());
        let confined = confined(&confinement, &machine);
        // What was copied before is not known.
        fs::copy(&cat, bed.path("ws/src/before")).unwrap();
        for script in [
            "head -n 1 src/mine | grep mine",
            "ls /usr/bin | grep -x ls",
            "test -e /bin/cat",
            "cp /bin/ls src/l && src/l src | grep mine",
            "src/before src/mine | grep mine",
            "echo x > src/new && grep x src/new && mktemp",
            "git --version",
        ] {
            let output = bed.run(Some(&confined), "ws", script, None, &[]);
            assert!(output.status.success(), "{level}, {script}: {}", text(&output));
        }
        let refusals =
            ["cat src/mine", "/bin/cat x", "env cat x", "find src -exec cat {} +", "exec cat x"];
        for script in refusals {
            let output = bed.run(Some(&confined), "ws", script, None, &[]);
            let denial = explain_denial(&confined, &bed.path("ws"), &text(&output));
            let denial = denial.unwrap_or_else(|| panic!("{level}, {script}: {}", text(&output)));
            assert_eq!(denial.target, DenialTarget::Program(cat.clone()), "{level}, {script}");
            assert!(denial.rule.contains("forbidden by policy"), "{}", denial.rule);
        }
        let own = confined.command(&"cat".into(), &["x".into()], Path::new("/"), &[]);
        let output = std::process::Command::new(own.program).args(own.arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{level}: {}", text(&output));
        let denial = explain_denial(&confined, Path::new("/"), &text(&output)).unwrap();
        assert_eq!(denial.target, DenialTarget::Program(cat.clone()));
    }
}

#[test]
fn also_where_the_command_can_write() {
    for (level, machine) in levels() {
        let bed = Bed::new();
        let tool = bed.path("ws/src/bin/tool");
        fs::create_dir_all(bed.path("ws/src/bin")).unwrap();
        fs::create_dir(bed.path("ws/src/other")).unwrap();
        fs::write(&tool, "#!/bin/sh\necho ran\n").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        let mut confinement = bed.confinement();
        confinement.forbidden_programs.push(tool);
        let confined = confined(&confinement, &machine);
        let run = |script: &str| bed.run(Some(&confined), "ws", script, None, &[]);
        for script in [
            "src/bin/tool",
            "sh src/bin/tool",
            "mv src/bin/tool src/other/t && src/other/t",
            "mv src/bin/tool src/bin/t && src/bin/t",
            "ln src/bin/tool src/other/t && src/other/t",
            "mv src/bin src/other/ && src/other/bin/tool",
            "mv src/bin src/b; src/b/tool",
        ] {
            let output = run(script);
            assert!(!text(&output).contains("ran\n"), "{level}, {script}: {}", text(&output));
            assert!(!output.status.success(), "{level}, {script}");
        }
        let output = run("echo x > src/new && echo x > src/bin/new; test -e src/new");
        assert!(output.status.success(), "{level}: {}", text(&output));
    }
}
