//! Shells, their builtins, and programs that start others.

use super::arguments::ANY;
use super::{Approval, Builtin, Dialect, Program, Runs, Trait, harm, reader, runner, wrapper};

const OTHER_USER: &str = "it runs as another user";

const fn builtin(names: &'static str, builtin: Builtin) -> Program {
    Program { runs: Runs::Builtin(builtin), ..reader(names) }
}

pub(super) const PROGRAMS: &[Program] = &[
    runner("bash ksh mksh rbash yash", Runs::Shell(Dialect::Bash)),
    runner("sh dash ash", Runs::Shell(Dialect::Posix)),
    runner("zsh fish csh tcsh", Runs::Shell(Dialect::Other)),
    // Builtins.
    reader("break caller continue dirs echo exit false pwd return shift times type umask"),
    Program { traits: &[Trait::NamedByVariables], ..reader(": true") },
    Program { traits: &[Trait::ChangesDirectory], ..reader("cd chdir popd pushd") },
    builtin("declare export local readonly typeset", Builtin::Declare),
    builtin("getopts", Builtin::GetOpts),
    builtin("let", Builtin::Let),
    builtin("mapfile readarray", Builtin::MapFile),
    builtin("printf", Builtin::Printf),
    Program { harmless_variables: "IFS", ..builtin("read", Builtin::Read) },
    builtin("set", Builtin::Set),
    builtin("shopt", Builtin::ShOpt),
    Program { runs_with: "-x", ..reader("jobs") },
    builtin("[ test", Builtin::Test),
    builtin("unset", Builtin::Unset),
    builtin("wait", Builtin::Wait),
    runner("eval", Runs::Eval),
    runner("trap", Runs::Trap),
    runner(". bind compgen complete enable fc history source", Runs::Text),
    runner("alias unalias", Runs::Alias),
    Program { runs: Runs::Alias, ..reader("hash") },
    Program { reads: &[ANY.words(&["-v -V"])], ..wrapper("command", "-p", 0) },
    wrapper("builtin", "", 0),
    Program { traits: &[Trait::RedirectsShell], ..wrapper("exec", "-cl -a=", 0) },
    // Programs that start the command in their arguments.
    Program {
        runs: Runs::Command { operands: 0, assigns: true, input: false },
        directory_options: "-C --chdir",
        ..wrapper(
            "env",
            "- -i0v -uCa= --ignore-environment --null --unset= --chdir= --argv0= --debug",
            0,
        )
    },
    Program {
        runs: Runs::Command { operands: 0, assigns: true, input: false },
        harms: &[harm(ANY, OTHER_USER)],
        directory_options: "-D --chdir",
        ..wrapper(
            "sudo",
            "-ABbEHiknPSs -ugpChTrtRDU= --user= --group= --host= --prompt= --login --preserve-env \
             --set-home --non-interactive --stdin --background --reset-timestamp --chdir=",
            0,
        )
    },
    Program { harms: &[harm(ANY, OTHER_USER)], ..wrapper("doas", "-nLs -uC=", 0) },
    Program { harms: &[harm(ANY, OTHER_USER)], ..wrapper("pkexec", "", 0) },
    Program {
        runs: Runs::Command { operands: 0, assigns: false, input: true },
        ..wrapper(
            "xargs",
            "-0rtpxo -adEILnPsR= --null --arg-file= --delimiter= --max-args= --max-procs= \
             --max-lines? --max-chars= --replace? --eof? --no-run-if-empty --verbose --exit \
             --interactive --open-tty",
            0,
        )
    },
    wrapper("catchsegv ld-linux* ld.so* nohup torsocks", "", 0),
    Program { traits: &[Trait::MultiCall], ..wrapper("busybox toybox", "", 0) },
    wrapper(
        "timeout",
        "-fpv -ks= --signal= --kill-after= --foreground --preserve-status --verbose",
        1,
    ),
    wrapper("nice", "-0123456789 -n= --adjustment=", 0),
    wrapper("ionice", "-t -cn= --class= --classdata= --ignore", 0),
    wrapper("stdbuf", "-ioe= --input= --output= --error=", 0),
    wrapper("time", "-pvqa -fo= --portability --verbose --quiet --append --format= --output=", 0),
    wrapper("setsid", "-cfw --ctty --fork --wait", 0),
    wrapper("unbuffer", "-p", 0),
    wrapper("caffeinate", "-dimsu -tw=", 0),
    wrapper("strace", "-fcqrtTvxyk -eopPsSuaEIObX=", 0),
    wrapper("ltrace", "-fcSrtT -elonpsu=", 0),
    wrapper("taskset", "-ac", 1),
    wrapper("chrt", "-bfioraRv", 1),
    wrapper("chroot", "", 1),
    wrapper("faketime", "-m -f=", 1),
    wrapper("flock", "-ensuxoFv -wE=", 1),
    wrapper("proxychains4", "-q -f=", 0),
    Program { options: "-n= --interval=", ..runner("watch", Runs::Joined) },
    Program { harms: &[harm(ANY, OTHER_USER)], ..runner("runuser su", Runs::Hidden(&[])) },
    runner(
        "abduco anacron at autossh batch bpftrace busctl bwrap capsh cgexec choom chpst chronic \
         chvt clush combine condor_run cpulimit daemon daemonize dbus-launch dbus-run-session \
         dbus-send debootstrap dsh dtach dumb-init eatmydata entr envdir envuidgid fakechroot \
         fakeroot fcron firejail fswatch ftrace gcore gdbus gosu heaptrack hyperfine i386 ifne \
         inotifywait launchctl lckdo linux32 linux64 lxc lxc-attach machinectl mispipe mosh \
         mpiexec mpirun newgrp nodemon nsenter numactl openvt parallel pbuilder pdsh pee perf \
         prlimit proot pseudo qemu-system-x86_64 qemu-user qsub reflex reptyr rlogin rlwrap rr rsh \
         run-parts runcon s6-setuidgid sbatch schroot screen script sem service setarch setlock \
         setpriv setuidgid sg slogin socat softlimit srun ssh-agent sshpass start-stop-daemon \
         startx su-exec systemd-inhibit systemd-nspawn systemd-run tini tmux uftrace uname26 \
         unshare valgrind vipe watchexec watchman wine box64 x86_64 xdotool xinit xvfb-run zellij \
         zrun alacritty foot gnome-terminal kitty konsole rxvt urxvt uxterm wezterm \
         x-terminal-emulator xterm",
        Runs::Hidden(&[]),
    ),
    Program { version: "-V", ..runner("ssh", Runs::Hidden(&[])) },
    Program { approval: Approval::Exact, ..runner("mount", Runs::Unknown) },
];
