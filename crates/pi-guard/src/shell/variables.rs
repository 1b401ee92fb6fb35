//! Variables that decide what runs, or how text is read, and the values with which they do not.

use super::Assignment;
use crate::programs::{self, Program, Trait};

/// Variables that decide what runs, or how text is read.
const POWERFUL: &str = "PATH IFS ENV SHELLOPTS PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND CDPATH GLOBIGNORE \
    EXECIGNORE PAGER EDITOR VISUAL BROWSER FCEDIT LESS LESSOPEN LESSCLOSE LESSKEY MORE MANPAGER MANOPT \
    PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT PYTHONWARNINGS PYTHONBREAKPOINT NODE_OPTIONS \
    NODE_PATH PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS \
    _JAVA_OPTIONS CLASSPATH RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTC RUSTDOC RUSTFLAGS \
    RUSTC_BOOTSTRAP MAKEFLAGS MAKEFILES GNUMAKEFLAGS GCONV_PATH HOSTALIASES LOCPATH NLSPATH TERMINFO \
    TERMCAP SHELL HOME ZDOTDIR HISTFILE FPATH CC CXX LD AR CPP CFLAGS LDFLAGS GOFLAGS TAR_OPTIONS \
    RSYNC_RSH CVS_RSH SVN_SSH SSH_ASKPASS SUDO_ASKPASS SUDO_EDITOR SYSTEMD_PAGER SYSTEMD_EDITOR \
    XDG_CONFIG_HOME XDG_DATA_HOME XDG_CONFIG_DIRS RIPGREP_CONFIG_PATH GREP_OPTIONS GZIP XZ_OPT ZIPOPT \
    UNZIP POSIXLY_CORRECT FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS BAT_PAGER DELTA_PAGER \
    AWKPATH AWKLIBPATH GAWKPATH VIMINIT EXINIT MYVIMRC LUA_INIT LUA_PATH LUA_CPATH PHPRC TCLLIBPATH \
    R_PROFILE OPENSSL_CONF OPENSSL_ENGINES CURL_HOME WGETRC INPUTRC EMACSLOADPATH ANSIBLE_CONFIG \
    DOCKER_HOST KUBECONFIG PSQL_PAGER PSQLRC PROMPT RPROMPT precmd preexec NULLCMD READNULLCMD \
    http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY";
const POWERFUL_STARTS: &[&str] = &[
    "LD_",
    "DYLD_",
    "GIT_",
    "BASH_",
    "BASHOPTS",
    "npm_config_",
    "NPM_CONFIG_",
    "CARGO_",
    "PIP_",
    "UV_",
    "GCC_",
    "LUA_",
    "MALLOC_",
    "GLIBC_",
    "ASAN_OPTIONS",
    "COMP_",
];

/// Of those that begin like the ones above: names, places and colours.
const HARMLESS: &str = "CARGO_TARGET_DIR CARGO_INCREMENTAL CARGO_BUILD_JOBS CARGO_NET_OFFLINE \
    CARGO_TERM_COLOR CARGO_TERM_VERBOSE CARGO_TERM_QUIET CARGO_TERM_PROGRESS_WHEN CARGO_NET_RETRY \
    CARGO_BUILD_TARGET_DIR CARGO_TERM_PROGRESS_WIDTH GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE \
    GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT GIT_MERGE_AUTOEDIT \
    GIT_OPTIONAL_LOCKS PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INPUT PIP_NO_CACHE_DIR \
    GIT_ADVICE GIT_FLUSH UV_NO_PROGRESS";
const HARMLESS_STARTS: &[&str] = &["CARGO_PROFILE_"];
/// Variables that name a program, which may be one of these.
const RUN: &str = "PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR \
    BAT_PAGER CC CXX LD AR";
/// Options of compilers and of node; with another word among them, a program may be run.
const FLAGS: &str = "RUSTFLAGS RUSTDOCFLAGS CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS NODE_OPTIONS GOFLAGS";

/// The effect of setting a variable.
pub(super) enum Effect {
    None,
    /// This command is run.
    Runs(String),
    /// The variable may decide what runs.
    Unknown,
}

/// Returns the effect of an assignment before a command, or alone.
pub(super) fn effect(assignment: &Assignment, program: Option<&Program>) -> Effect {
    let name = assignment.name.split(['[', '=', '+']).next().unwrap_or_default();
    if !is_powerful(name) || program.is_some_and(|p| has(p.harmless_variables, name)) {
        return Effect::None;
    }
    let Some(value) = assignment.value.literal().filter(|_| name == assignment.name) else {
        return Effect::Unknown;
    };
    if has(RUN, name) {
        return match programs::find(value) {
            _ if value.is_empty() => Effect::None,
            known if known.has(Trait::NamedByVariables) => Effect::Runs(value.to_owned()),
            _ => Effect::Unknown,
        };
    }
    if has(FLAGS, name) && value.split_ascii_whitespace().all(is_plain_flag) {
        return Effect::None;
    }
    Effect::Unknown
}

/// Whether an option of a compiler, of make or of node only says how to do what is done anyway.
fn is_plain_flag(flag: &str) -> bool {
    const WHOLE: &str = "-D -W -A -C warnings -g -O -Wall -Wextra -Werror -Wpedantic -mod=vendor \
        -mod=mod -mod=readonly -fPIC -pthread --enable-source-maps --no-warnings --trace-warnings -s -k";
    const STARTS: &[&str] = &[
        "-O",
        "-g",
        "-j",
        "-std=",
        "-march=",
        "-mtune=",
        "-Ctarget-cpu=",
        "-Copt-level=",
        "-Cdebuginfo=",
        "-Cinstrument-coverage",
        "target-cpu=",
        "opt-level=",
        "debuginfo=",
        "instrument-coverage",
        "--max-old-space-size=",
        "-fsanitize=",
        "-Dwarnings",
    ];
    has(WHOLE, flag) || STARTS.iter().any(|start| flag.starts_with(start))
}

/// Whether a variable decides what runs, with some value.
pub(super) fn is_powerful(name: &str) -> bool {
    let starts = |list: &[&str]| list.iter().any(|start| name.starts_with(start));
    let harmless = starts(HARMLESS_STARTS) && !name.ends_with("RUSTFLAGS");
    !has(HARMLESS, name) && !harmless && (has(POWERFUL, name) || starts(POWERFUL_STARTS))
}

fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}
