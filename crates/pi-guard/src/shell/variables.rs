//! Variables that decide what runs or how text is read, and the values with which they do not.
//!
//! In the lists, a name that ends in `*` is a prefix.

use super::Assignment;
use crate::programs::{self, Program, Trait};

/// Variables that decide what runs or how text is read.
const POWERFUL: &str = "PATH IFS ENV SHELLOPTS PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND CDPATH GLOBIGNORE \
    EXECIGNORE PAGER EDITOR VISUAL BROWSER FCEDIT LESS LESSOPEN LESSCLOSE LESSKEY MORE MANPAGER \
    MANOPT PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT PYTHONWARNINGS PYTHONBREAKPOINT \
    NODE_OPTIONS NODE_PATH PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS \
    JDK_JAVA_OPTIONS _JAVA_OPTIONS CLASSPATH RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTC RUSTDOC \
    RUSTFLAGS RUSTC_BOOTSTRAP MAKEFLAGS MAKEFILES GNUMAKEFLAGS GCONV_PATH HOSTALIASES LOCPATH \
    NLSPATH TERMINFO TERMCAP SHELL HOME ZDOTDIR HISTFILE FPATH CC CXX LD AR CPP CFLAGS LDFLAGS \
    GOFLAGS TAR_OPTIONS RSYNC_RSH CVS_RSH SVN_SSH SSH_ASKPASS SUDO_ASKPASS SUDO_EDITOR \
    SYSTEMD_PAGER SYSTEMD_EDITOR XDG_CONFIG_HOME XDG_DATA_HOME XDG_CONFIG_DIRS RIPGREP_CONFIG_PATH \
    GREP_OPTIONS GZIP XZ_OPT ZIPOPT UNZIP POSIXLY_CORRECT FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS \
    BAT_PAGER DELTA_PAGER AWKPATH AWKLIBPATH GAWKPATH VIMINIT EXINIT MYVIMRC PHPRC TCLLIBPATH \
    R_PROFILE OPENSSL_CONF OPENSSL_ENGINES CURL_HOME WGETRC INPUTRC EMACSLOADPATH ANSIBLE_CONFIG \
    DOCKER_HOST KUBECONFIG PSQL_PAGER PSQLRC PROMPT RPROMPT precmd preexec NULLCMD READNULLCMD \
    http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY LD_* DYLD_* GIT_* BASH_* \
    BASHOPTS* npm_config_* NPM_CONFIG_* CARGO_* PIP_* UV_* GCC_* LUA_* MALLOC_* GLIBC_* \
    ASAN_OPTIONS* COMP_*";
/// Exceptions from the prefixes of [`POWERFUL`]: names, directories and colors.
const HARMLESS: &str = "CARGO_TARGET_DIR CARGO_INCREMENTAL CARGO_BUILD_JOBS CARGO_NET_OFFLINE \
    CARGO_TERM_COLOR CARGO_TERM_VERBOSE CARGO_TERM_QUIET CARGO_TERM_PROGRESS_WHEN CARGO_NET_RETRY \
    CARGO_BUILD_TARGET_DIR CARGO_TERM_PROGRESS_WIDTH CARGO_PROFILE_* GIT_AUTHOR_NAME \
    GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE \
    GIT_TERMINAL_PROMPT GIT_MERGE_AUTOEDIT GIT_OPTIONAL_LOCKS GIT_ADVICE GIT_FLUSH \
    PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INPUT PIP_NO_CACHE_DIR UV_NO_PROGRESS";
/// Variables that name a program.
const PROGRAM: &str = "PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER EDITOR VISUAL GIT_EDITOR \
    GIT_SEQUENCE_EDITOR BAT_PAGER CC CXX LD AR";
/// Variables with options of compilers, of make or of node.
const FLAGS: &str = "RUSTFLAGS RUSTDOCFLAGS CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS NODE_OPTIONS GOFLAGS";
/// Values of [`FLAGS`] that run nothing.
const HARMLESS_FLAGS: &str = "-D -W -A -C warnings -Wall -Wextra -Werror -Wpedantic -mod=vendor \
    -mod=mod -mod=readonly -fPIC -pthread --enable-source-maps --no-warnings --trace-warnings -s -k \
    -O* -g* -j* -std=* -march=* -mtune=* -Ctarget-cpu=* -Copt-level=* -Cdebuginfo=* target-cpu=* \
    -Cinstrument-coverage* opt-level=* debuginfo=* instrument-coverage* --max-old-space-size=* \
    -fsanitize=* -Dwarnings*";

/// The effect of setting a variable.
pub(super) enum Effect {
    None,
    /// A program runs this command.
    Runs(String),
    /// The variable may decide what runs.
    Unknown,
}

/// Returns the effect of an assignment, alone or before a call of a program.
pub(super) fn effect(assignment: &Assignment, program: Option<&Program>) -> Effect {
    let name = assignment.name.split(['[', '=', '+']).next().unwrap_or_default();
    if !is_powerful(name) || program.is_some_and(|p| has(p.harmless_variables, name)) {
        return Effect::None;
    }
    let Some(value) = assignment.value.literal() else { return Effect::Unknown };
    // `PATH+=x` and `PATH[0]=x` depend on the old value.
    if name != assignment.name {
        return Effect::Unknown;
    }
    if has(PROGRAM, name) {
        return match value {
            "" => Effect::None,
            _ if programs::find(value).has(Trait::NamedByVariables) => Effect::Runs(value.into()),
            _ => Effect::Unknown,
        };
    }
    if has(FLAGS, name) && value.split_ascii_whitespace().all(|flag| has(HARMLESS_FLAGS, flag)) {
        return Effect::None;
    }
    Effect::Unknown
}

/// Returns true if some value of a variable decides what runs.
pub(super) fn is_powerful(name: &str) -> bool {
    let is_harmless = has(HARMLESS, name) && !name.ends_with("RUSTFLAGS");
    !is_harmless && has(POWERFUL, name)
}

fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| match known.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == known,
    })
}
