//! Variables: those that bash or programs use, and those that are harmless to pass on.
//!
//! In the lists, a name that ends in `*` is a prefix.

use super::Assignment;
use crate::programs::{self, Trait};

/// Variables of the shell itself, and variables that are usually in the environment: to assign one
/// is to pass it on to every program that runs later.
const USED: &str = "PATH IFS ENV CDPATH PS0 PS1 PS2 PS3 PS4 PROMPT PROMPT_* RPROMPT SHELL SHELLOPTS \
    HOME PWD OLDPWD USER LOGNAME BASH* COMP_* COMPREPLY COPROC DIRSTACK EPOCH* EUID EXECIGNORE FCEDIT \
    FIGNORE FPATH FUNCNAME FUNCNEST GLOBIGNORE GROUPS HIST* HOSTALIASES HOSTFILE HOSTNAME HOSTTYPE \
    IGNOREEOF INPUTRC LINENO LINES COLUMNS LANG LANGUAGE LC_* LOCPATH NLSPATH MACHTYPE MAIL MAILCHECK \
    MAILPATH MAPFILE OPTARG OPTERR OPTIND OSTYPE PIPESTATUS PPID RANDOM READLINE* REPLY SECONDS \
    SRANDOM TERM TEXTDOMAIN* TIMEFORMAT TMOUT TMPDIR TZ UID ZDOTDIR auto_resume histchars precmd \
    preexec *NULLCMD LD_* DYLD_* GCONV* MALLOC_* GLIBC_* ASAN_* TERMINFO* TERMCAP XDG_* DISPLAY DBUS_* \
    SSH_* GPG_* SUDO_* SYSTEMD_* EDITOR VISUAL BROWSER PAGER LESS* MORE MANOPT MANPAGER MANPATH GREP \
    GREP_* GZIP XZ_* ZIPOPT UNZIP TAR_* RSYNC_* CVS_* SVN_* POSIXLY_CORRECT GIT_* FZF_* BAT_* DELTA_* \
    RIPGREP* AWK* GAWK* VIM* EXINIT MYVIMRC PYTHON* PIP_* UV_* PYENV* NODE_* NPM_* npm_* PERL* RUBY* \
    GEM_* BUNDLE_* PHP* LUA_* TCL* JAVA_* JDK_* _JAVA* CLASSPATH MAVEN_* GRADLE_* RUST* CARGO_* GOFLAGS \
    GOPATH GOROOT GOENV GOBIN GOPROXY MAKEFILES MAKEFLAGS GNUMAKEFLAGS CC CXX LD AR CPP CFLAGS CXXFLAGS \
    LDFLAGS GCC_* R_* OPENSSL_* CURL_* WGETRC EMACS* ANSIBLE_* DOCKER_* KUBECONFIG AWS_* PG* PSQL* \
    *_proxy *_PROXY";
/// Variables that change texts, colors, names and the amount of output.
const HARMLESS: &str = "LANG LC_* TZ TERM NO_COLOR FORCE_COLOR CLICOLOR* COLORTERM CI DEBUG VERBOSE \
    PORT NODE_ENV RUST_BACKTRACE RUST_LOG RUST_TEST_THREADS CARGO_TERM_* CARGO_INCREMENTAL \
    CARGO_NET_OFFLINE CARGO_BUILD_JOBS GOOS GOARCH CGO_ENABLED GIT_AUTHOR_* GIT_COMMITTER_* \
    GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE \
    PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INPUT DEBIAN_FRONTEND COLUMNS LINES";
/// Variables that name a program.
const PROGRAM: &str = "PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER EDITOR VISUAL GIT_EDITOR \
    GIT_SEQUENCE_EDITOR";
/// Variables that bash keeps as numbers: it evaluates what is assigned to them.
const COUNTERS: &str =
    "RANDOM SRANDOM SECONDS LINENO EPOCHSECONDS BASHPID PPID UID EUID OPTIND FUNCNEST";

/// The programs that see a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Only the shell, unless the variable is in the environment already.
    Shell,
    /// The programs that the shell starts.
    Exported,
    /// The reading of a line by the shell.
    Line,
}

/// The effect of setting a variable.
pub(super) enum Effect {
    None,
    /// A program runs this command.
    Runs(String),
    /// The variable may decide what runs.
    Unknown,
}

/// Returns the effect of an assignment.
pub(super) fn effect(assignment: &Assignment, extent: Extent) -> Effect {
    let name = assignment.name.split(['[', '=', '+']).next().unwrap_or_default();
    let is_whole = name == assignment.name;
    let value = assignment.value.literal().filter(|_| is_whole);
    match value {
        _ if name == "IFS" && extent == Extent::Line => Effect::None,
        _ if extent == Extent::Shell && !is_used(name) => Effect::None,
        Some(value) if has(HARMLESS, name) && !value.contains('/') => Effect::None,
        Some(value) if is_counter(name) && value.bytes().all(|b| b.is_ascii_digit()) => {
            Effect::None
        }
        Some("") if has(PROGRAM, name) => Effect::None,
        Some(value) if has(PROGRAM, name) && programs::find(value).has(Trait::NamedByVariables) => {
            Effect::Runs(value.to_owned())
        }
        _ => Effect::Unknown,
    }
}

/// Returns true if bash or programs in general use the variable.
pub(super) fn is_used(name: &str) -> bool {
    has(USED, name)
}

/// Returns true if a variable that the script sets to a number may have another value: the shell
/// sets it too.
pub(super) fn is_of_shell(name: &str) -> bool {
    name == "_" || is_used(name) && !is_counter(name)
}

/// Returns true if bash keeps the variable as a number.
pub(super) fn is_counter(name: &str) -> bool {
    has(COUNTERS, name)
}

fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| {
        match (known.strip_prefix('*'), known.strip_suffix('*')) {
            (Some(end), _) => name.ends_with(end),
            (_, Some(start)) => name.starts_with(start),
            _ => name == known,
        }
    })
}
