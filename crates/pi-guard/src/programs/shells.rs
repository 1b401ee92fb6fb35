//! Shells, their builtins, and programs that start others.

use super::arguments::ANY;
use super::{Builtin, Dialect, Harm, Program, READS, Reach, Runs, Trait, harm, programs};

const AS_OTHER_USER: &[Harm] = &[harm(Reach::Outside, ANY, "it runs as another user")];

pub(super) const PROGRAMS: &[Program] = programs! {
    "bash rbash" { runs: Runs::Shell(Dialect::Bash), version: "--version" }
    "ash dash sh" { runs: Runs::Shell(Dialect::Posix) }

    // Builtins.
    "break continue echo exit false pwd return shift" { reads: READS, traits: &[Trait::Inert] }
    "caller dirs times type umask" { reads: READS }
    ": true" { reads: READS, traits: &[Trait::Inert, Trait::NamedByVariables] }
    "cd chdir popd pushd" { reads: READS, traits: &[Trait::ChangesDirectory, Trait::Inert] }
    "declare local readonly typeset" { runs: Runs::Builtin(Builtin::Declare), reads: READS }
    "export" { runs: Runs::Builtin(Builtin::Declare), reads: READS,
        traits: &[Trait::SetsVariables] }
    "getopts" { runs: Runs::Builtin(Builtin::GetOpts), reads: READS }
    "let" { runs: Runs::Builtin(Builtin::Let), reads: READS }
    "mapfile readarray" { runs: Runs::Builtin(Builtin::MapFile), reads: READS }
    "printf" { runs: Runs::Builtin(Builtin::Printf), reads: READS }
    "read" { runs: Runs::Builtin(Builtin::Read), reads: READS }
    "set" { runs: Runs::Builtin(Builtin::Set), reads: READS }
    "shopt" { runs: Runs::Builtin(Builtin::ShOpt), reads: READS }
    "[ test" { runs: Runs::Builtin(Builtin::Test), reads: READS }
    "unset" { runs: Runs::Builtin(Builtin::Unset), reads: READS }
    "wait" { runs: Runs::Builtin(Builtin::Wait), reads: READS }
    "jobs" { runs_with: "-x", reads: READS }
    "eval" { runs: Runs::Eval }
    "trap" { runs: Runs::Trap }
    ". bind compgen complete enable fc history source" { runs: Runs::Text }
    "alias unalias" { runs: Runs::Alias }
    "hash" { runs: Runs::Alias, reads: READS }
    "command" { runs: Runs::Command(0), options: "-p", reads: &[ANY.words(&["-v -V"])] }
    "builtin" { runs: Runs::Command(0) }
    "exec" { runs: Runs::Command(0), traits: &[Trait::RedirectsShell] }

    // Programs that start the command in their arguments, with the options that do nothing else.
    "env" { runs: Runs::Command(0), traits: &[Trait::SetsVariables],
        options: "- -i0 -uC= --ignore-environment --null --unset= --chdir=" }
    "sudo" { runs: Runs::Command(0), traits: &[Trait::SetsVariables], harms: AS_OTHER_USER,
        options: "-ABbEHknPS -ugpD= --user= --group= --non-interactive --stdin --chdir=" }
    "doas" { runs: Runs::Command(0), options: "-n -u=", harms: AS_OTHER_USER }
    "pkexec" { runs: Runs::Command(0), harms: AS_OTHER_USER }
    "runuser su" { runs: super::UNKNOWN_RUNS, harms: AS_OTHER_USER }
    "xargs" { runs: Runs::Command(0), traits: &[Trait::ReadsArguments],
        options: "-0rtpxo -adEILnPsR= --null --arg-file= --delimiter= --max-args= --max-procs= \
            --max-lines? --max-chars= --replace? --eof? --no-run-if-empty --verbose --exit \
            --interactive --open-tty" }
    "nohup" { runs: Runs::Command(0) }
    "ld-linux* ld-musl* ld.so* ld64.so*" { runs: super::UNKNOWN_RUNS, traits: &[Trait::Loads] }
    "timeout" { runs: Runs::Command(1),
        options: "-fpv -ks= --signal= --kill-after= --foreground --preserve-status --verbose" }
    "nice" { runs: Runs::Command(0), options: "-0123456789 -n= --adjustment=" }
    "stdbuf" { runs: Runs::Command(0), options: "-ioe= --input= --output= --error=" }
    "time" { runs: Runs::Command(0), options: "-pvq -f= --portability --verbose --quiet --format=" }
    "setsid" { runs: Runs::Command(0), options: "-fw --fork --wait" }
    "busybox coreutils kmod lvm mtools rustup-init toybox uutils xtables-legacy-multi \
     xtables-nft-multi" { runs: super::UNKNOWN_RUNS,
        traits: &[Trait::MultiCall] }
};
