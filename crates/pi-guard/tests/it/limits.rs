//! Limits on the resources of a command that the helper sets, on every level that the machine
//! offers.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use pi_guard::confine::Limits;

use crate::env::{TestEnv, confined, levels, not_tested, text};

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

#[test]
fn a_file_does_not_grow_beyond_its_limit() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let mut confinement = env.confinement();
        confinement.limits = limits(|limits| limits.file_size = Some(1 << 20));
        let confined = confined(&confinement, &machine);
        let output = env.run(Some(&confined), "ws", "yes > src/long; echo ended $?");
        assert!(text(&output).contains("ended 153"), "{level}: {}", text(&output));
        assert_eq!(fs::metadata(env.path("ws/src/long")).unwrap().len(), 1 << 20, "{level}");
        // The limit cannot be raised.
        let output = env.run(Some(&confined), "ws", "ulimit -f unlimited");
        assert!(!output.status.success(), "{level}: {}", text(&output));
    }
}

#[test]
fn a_process_does_not_get_more_memory_than_its_limit() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let mut confinement = env.confinement();
        confinement.limits = limits(|limits| limits.process_memory = Some(64 << 20));
        let confined = confined(&confinement, &machine);
        // `tail` keeps the line, which never ends.
        let output = env.run(Some(&confined), "ws", "head -c 200M /dev/zero | tail -n 1 | wc -c");
        let said = text(&output);
        assert!(said.contains("memory exhausted"), "{level}: {said}");
        let output = env.run(Some(&confined), "ws", "cat /proc/self/oom_score_adj");
        assert_eq!(text(&output).trim(), "500", "{level}");
    }
}

#[test]
fn a_fork_bomb_ends_at_the_limit_of_processes() {
    // The kernel does not limit root.
    if rustix::process::geteuid().is_root() {
        not_tested("the limit of processes without a control group: it does not apply to root");
        return;
    }
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let mut confinement = env.confinement();
        confinement.limits = limits(|limits| limits.processes = Some(50));
        let confined = confined(&confinement, &machine);
        let script = "for i in $(seq 2000); do sleep 5 & done 2>&1; kill $(jobs -p)";
        let output = env.run(Some(&confined), "ws", script);
        let said = text(&output);
        assert!(said.contains("Resource temporarily unavailable"), "{level}: {said}");
    }
}

#[test]
fn ordinary_commands_work_with_the_usual_limits() {
    for (level, machine) in levels() {
        let env = TestEnv::new();
        let mut confinement = env.confinement();
        confinement.limits = Limits::usual();
        assert!(confinement.limits.memory.is_some_and(|bytes| bytes > 1 << 28));
        let confined = confined(&confinement, &machine);
        let script = "seq 1000 | sort -n | tail -1 && truncate -s 1G src/sparse && \
            echo 'int main(void){return 0;}' > src/a.c && cc -fsanitize=address src/a.c -o src/a && \
            ASAN_OPTIONS=detect_leaks=0 src/a";
        let output = env.run(Some(&confined), "ws", script);
        assert!(output.status.success(), "{level}: {} {:?}", text(&output), output.status.signal());
    }
}
