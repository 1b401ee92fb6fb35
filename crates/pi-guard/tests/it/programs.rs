//! Forbidden programs, started under other names: real processes, on every level.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pi_guard::confine::{DenialTarget, ProgramFiles, explain_denial};

use crate::env::{TestEnv, confined, levels, not_tested, text};

/// Scripts that run or read `cat`, each with the program that it needs.
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

/// The path of `cat`, unless the file is also many other programs.
fn cat() -> Option<PathBuf> {
    let real = ["/usr/bin/cat", "/bin/cat"].iter().find_map(|path| fs::canonicalize(path).ok());
    let real = real.filter(|real| real.ends_with("cat"));
    if real.is_none() {
        not_tested("forbidden programs: `cat` is not a program of its own");
    }
    real
}

#[test]
fn a_forbidden_program_runs_under_no_name() {
    let Some(cat) = cat() else { return };
    for (script, needs) in SPELLINGS {
        let environment = [("CAT", cat.display().to_string())];
        let needed = format!("{needs} --version");
        let env = TestEnv::new();
        if !needs.is_empty() && !env.run(None, "ws", &needed).status.success() {
            not_tested(&format!("{script:?}: {needs} is not installed"));
            continue;
        }
        let output = env.run_with(None, "ws", script, &environment);
        assert!(output.status.success(), "{script}: {}", text(&output));
        for (level, machine) in levels() {
            let env = TestEnv::new();
            let mut confinement = env.confinement();
            confinement.forbidden_programs.push("/bin/cat".into());
            let confined = confined(&confinement, &machine);
            let output = env.run_with(Some(&confined), "ws", script, &environment);
            assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
            assert!(!text(&output).contains("mine\n"), "{level}, {script}: {}", text(&output));
        }
    }
}

#[test]
fn other_programs_run_and_the_refusal_is_explained() {
    let Some(cat) = cat() else { return };
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let mut confinement = env.confinement();
        confinement.forbidden_programs.push(cat.clone());
        confinement.forbidden_programs.push("/nowhere/tool".into());
        let confined = confined(&confinement, &machine);
        // A copy from before the confinement is not recognized.
        fs::copy(&cat, env.path("ws/src/before")).unwrap();
        for script in [
            "head -n 1 src/mine | grep mine",
            "ls /usr/bin | grep -x ls",
            "test -e /bin/cat",
            "cp /bin/ls src/l && src/l src | grep mine",
            "src/before src/mine | grep mine",
            "echo x > src/new && grep x src/new && mktemp",
            "git --version",
        ] {
            let output = env.run(Some(&confined), "ws", script);
            assert!(output.status.success(), "{level}, {script}: {}", text(&output));
        }
        let refusals =
            ["cat src/mine", "/bin/cat x", "env cat x", "find src -exec cat {} +", "exec cat x"];
        for script in refusals {
            let output = env.run(Some(&confined), "ws", script);
            let denial = explain_denial(&confined, &env.path("ws"), &text(&output));
            let denial = denial.unwrap_or_else(|| panic!("{level}, {script}: {}", text(&output)));
            assert_eq!(denial.target, DenialTarget::Program(cat.clone()), "{level}, {script}");
            assert!(denial.rule.contains("forbids this program"), "{}", denial.rule);
        }
        let own = confined.command(&"cat".into(), &["x".into()], Path::new("/"), &[]);
        let output = std::process::Command::new(own.program).args(own.arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{level}: {}", text(&output));
        let denial = explain_denial(&confined, Path::new("/"), &text(&output)).unwrap();
        assert_eq!(denial.target, DenialTarget::Program(cat.clone()));
    }
}

#[test]
fn a_forbidden_program_in_a_writable_root_cannot_run() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let tool = env.path("ws/src/bin/tool");
        fs::create_dir_all(env.path("ws/src/bin")).unwrap();
        fs::create_dir(env.path("ws/src/other")).unwrap();
        fs::write(&tool, "#!/bin/sh\necho ran\n").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        let mut confinement = env.confinement();
        confinement.forbidden_programs.push(tool);
        let confined = confined(&confinement, &machine);
        let run = |script: &str| env.run(Some(&confined), "ws", script);
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

/// A hard link, another file on the path and another file of the package are the same program.
#[test]
fn no_file_of_a_forbidden_program_can_be_run_or_copied() {
    let Some(cat) = cat() else { return };
    let env = TestEnv::new();
    for directory in ["a/bin", "b/bin", "b/lib/tool-core"] {
        fs::create_dir_all(env.path(directory)).unwrap();
    }
    for file in ["a/bin/tool", "b/bin/tool", "b/lib/tool-core/tool"] {
        fs::copy(&cat, env.path(file)).unwrap();
    }
    fs::copy("/bin/ls", env.path("a/bin/other")).unwrap();
    fs::hard_link(env.path("a/bin/tool"), env.path("a/bin/tool-receive")).unwrap();
    fs::hard_link(env.path("b/lib/tool-core/tool"), env.path("b/lib/tool-core/tool-add")).unwrap();
    let files = ProgramFiles::new(vec![env.path("a/bin"), env.path("b/bin")]);
    let names = [
        "a/bin/tool",
        "a/bin/tool-receive",
        "b/bin/tool",
        "b/lib/tool-core/tool",
        "b/lib/tool-core/tool-add",
    ];
    let scripts = ["F src/mine", "cp F src/w && src/w src/mine", "ln -s F src/w && src/w src/mine"];
    let base = [("BASE", env.base.display().to_string())];
    for name in names {
        for script in scripts {
            let script = format!("rm -f src/w; {}", script.replace('F', &format!("$BASE/{name}")));
            let output = env.run_with(None, "ws", &script, &base);
            assert!(text(&output).contains("mine\n"), "{script}: {}", text(&output));
            for (level, machine) in levels() {
                let mut confinement = env.confinement();
                confinement.forbidden_programs = files.with_links(files.named("tool"));
                let confined = confined(&confinement, &machine);
                let output = env.run_with(Some(&confined), "ws", &script, &base);
                assert!(!output.status.success(), "{level}, {script}: {}", text(&output));
                assert!(!text(&output).contains("mine\n"), "{level}, {script}: {}", text(&output));
                let output = env.run_with(Some(&confined), "ws", "$BASE/a/bin/other src", &base);
                assert!(output.status.success(), "{level}: {}", text(&output));
            }
        }
    }
}
