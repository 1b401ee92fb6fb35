//! Shells, their builtins, and programs that start others.

use super::arguments::ANY;
use super::{Builtin, Dialect, HIDDEN, Harm, Program, READS, Runs, Trait, harm, programs};

const AS_OTHER_USER: &[Harm] = &[harm(ANY, "it runs as another user")];

pub(super) const PROGRAMS: &[Program] = programs! {
    "bash ksh mksh rbash yash" { runs: Runs::Shell(Dialect::Bash) }
    "sh dash ash" { runs: Runs::Shell(Dialect::Posix) }
    "zsh fish csh tcsh" { runs: Runs::Shell(Dialect::Other) }

    // Builtins.
    "break continue echo exit false pwd return shift" { reads: READS, traits: &[Trait::Inert] }
    "caller dirs times type umask" { reads: READS }
    ": true" { reads: READS, traits: &[Trait::Inert, Trait::NamedByVariables] }
    "cd chdir popd pushd" { reads: READS, traits: &[Trait::ChangesDirectory, Trait::Inert] }
    "declare export local readonly typeset" { runs: Runs::Builtin(Builtin::Declare), reads: READS }
    "getopts" { runs: Runs::Builtin(Builtin::GetOpts), reads: READS }
    "let" { runs: Runs::Builtin(Builtin::Let), reads: READS }
    "mapfile readarray" { runs: Runs::Builtin(Builtin::MapFile), reads: READS }
    "printf" { runs: Runs::Builtin(Builtin::Printf), reads: READS }
    "read" { runs: Runs::Builtin(Builtin::Read), reads: READS, harmless_variables: "IFS" }
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
    "exec" { runs: Runs::Command(0), options: "-cl -a=", traits: &[Trait::RedirectsShell] }

    // Programs that start the command in their arguments.
    "env" { runs: Runs::Command(0), traits: &[Trait::SetsVariables],
        options: "- -i0v -uCa= --ignore-environment --null --unset= --chdir= --argv0= --debug" }
    "sudo" { runs: Runs::Command(0), traits: &[Trait::SetsVariables],
        options: "-ABbEHiknPSs -ugpChTrtRDU= --user= --group= --host= --prompt= --login --stdin \
            --preserve-env --set-home --non-interactive --background --reset-timestamp --chdir=",
        harms: AS_OTHER_USER }
    "doas" { runs: Runs::Command(0), options: "-nLs -uC=", harms: AS_OTHER_USER }
    "pkexec" { runs: Runs::Command(0), harms: AS_OTHER_USER }
    "xargs" { runs: Runs::Command(0), traits: &[Trait::ReadsArguments],
        options: "-0rtpxo -adEILnPsR= --null --arg-file= --delimiter= --max-args= --max-procs= \
            --max-lines? --max-chars= --replace? --eof? --no-run-if-empty --verbose --exit \
            --interactive --open-tty" }
    "catchsegv nohup torsocks" { runs: Runs::Command(0) }
    "ld-linux* ld-musl* ld.so* ld64.so*" { runs: Runs::Command(0), traits: &[Trait::Loads] }
    "busybox toybox" { runs: Runs::Command(0), traits: &[Trait::MultiCall] }
    "timeout" { runs: Runs::Command(1),
        options: "-fpv -ks= --signal= --kill-after= --foreground --preserve-status --verbose" }
    "nice" { runs: Runs::Command(0), options: "-0123456789 -n= --adjustment=" }
    "ionice" { runs: Runs::Command(0), options: "-t -cn= --class= --classdata= --ignore" }
    "stdbuf" { runs: Runs::Command(0), options: "-ioe= --input= --output= --error=" }
    "time" { runs: Runs::Command(0),
        options: "-pvqa -fo= --portability --verbose --quiet --append --format= --output=" }
    "setsid" { runs: Runs::Command(0), options: "-cfw --ctty --fork --wait" }
    "unbuffer" { runs: Runs::Command(0), options: "-p" }
    "caffeinate" { runs: Runs::Command(0), options: "-dimsu -tw=" }
    "strace" { runs: Runs::Command(0), options: "-fcqrtTvxyk -eopPsSuaEIObX=" }
    "ltrace" { runs: Runs::Command(0), options: "-fcSrtT -elonpsu=" }
    "proxychains4" { runs: Runs::Command(0), options: "-q -f=" }
    "taskset" { runs: Runs::Command(1), options: "-ac" }
    "chrt" { runs: Runs::Command(1), options: "-bfioraRv" }
    "chroot" { runs: Runs::Command(1) }
    "faketime" { runs: Runs::Command(1), options: "-m -f=" }
    "flock" { runs: Runs::Command(1), options: "-ensuxoFv -wE=" }
    "watch" { runs: Runs::Joined, options: "-n= --interval=" }
    "runuser su" { runs: HIDDEN, harms: AS_OTHER_USER }
    "ssh" { runs: HIDDEN, version: "-V" }
    "abduco alacritty anacron at autossh batch box64 bpftrace busctl bwrap capsh cgexec choom \
     chpst chronic chvt clush combine condor_run cpulimit daemon daemonize dbus-launch \
     dbus-run-session dbus-send debootstrap dsh dtach dumb-init eatmydata entr envdir envuidgid \
     fakechroot fakeroot fcron firejail foot fswatch ftrace gcore gdbus gnome-terminal gosu \
     heaptrack hyperfine i386 ifne inotifywait kitty konsole launchctl lckdo linux32 linux64 lxc \
     lxc-attach machinectl mispipe mosh mpiexec mpirun newgrp nodemon nsenter numactl openvt \
     parallel pbuilder pdsh pee perf prlimit proot pseudo qemu-system-x86_64 qemu-user qsub \
     reflex reptyr rlogin rlwrap rr rsh run-parts runcon rxvt s6-setuidgid sbatch schroot screen \
     script sem service setarch setlock setpriv setuidgid sg slogin socat softlimit srun \
     ssh-agent sshpass start-stop-daemon startx su-exec systemd-inhibit systemd-nspawn \
     systemd-run tini tmux uftrace uname26 unshare urxvt uxterm valgrind vipe watchexec watchman \
     wezterm wine x-terminal-emulator x86_64 xdotool xinit xterm xvfb-run zellij zrun" { runs: HIDDEN }
};
