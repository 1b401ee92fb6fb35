//! The helper: this program gives up its privileges and becomes the command.
//!
//! With bubblewrap this takes two steps: outside, the helper becomes bubblewrap; bubblewrap starts
//! the helper again inside, and there it does the rest. Errors go to standard error, and the command
//! does not run: exit code 125, or 126 and 127 as in shells for commands that cannot be started.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use pi_base::process::{Rights, Variables, command};

use super::kernel::{self, KernelError};
use super::{
    ConfineError, Confined, ConfinementLevel, HELPER_ARGUMENT, Network, bridge, bubblewrap, covers,
    descriptors, roots, watch,
};

#[derive(Debug, thiserror::Error)]
pub(super) enum LaunchError {
    #[error(
        "the arguments of the helper are invalid; if the program was replaced while it ran, restart it"
    )]
    Arguments,
    #[error("{0}")]
    Confine(#[from] ConfineError),
    #[error("{0}")]
    Kernel(#[from] KernelError),
    #[error("the program was replaced or removed while it ran; restart it")]
    Replaced,
    #[error("open files would be inherited (descriptors {0:?}) and cannot be closed")]
    Descriptors(Vec<u32>),
    #[error("the bridge to the allowed hosts cannot be started: {0}")]
    Bridge(io::Error),
    #[error("no one decides about the programs that it starts: {0}")]
    Watch(io::Error),
    #[error("{program} cannot be started: {source}")]
    Start { program: String, source: io::Error },
}

/// Options of the helper: it runs inside of bubblewrap, or inherited descriptors were closed.
pub(super) const INSIDE: &str = "--inside";
const CLOSED: &str = "--closed";

/// Runs the helper. Does not return.
pub(super) fn run(arguments: Vec<OsString>) -> ! {
    let error = match step(arguments) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    let code = match &error {
        LaunchError::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
        LaunchError::Start { .. } => 126,
        _ => 125,
    };
    // A failure to write cannot be reported.
    let _ = writeln!(io::stderr(), "pi: the command was not run: {error}");
    std::process::exit(code)
}

fn step(mut arguments: Vec<OsString>) -> Result<std::convert::Infallible, LaunchError> {
    if arguments.first().is_some_and(|argument| argument == bridge::OPEN) {
        return Err(LaunchError::Bridge(bridge::open()));
    }
    if arguments.first().is_some_and(|argument| argument == bridge::SERVE) {
        return Err(LaunchError::Bridge(bridge::serve()));
    }
    let mut flag = |name: &str| {
        let found = arguments.first().is_some_and(|argument| argument == name);
        if found {
            arguments.remove(0);
        }
        found
    };
    let inside = flag(INSIDE);
    let closed = flag(CLOSED);
    let [specification, cwd, command_line @ ..] = arguments.as_slice() else {
        return Err(LaunchError::Arguments);
    };
    let text = specification.to_str().ok_or(LaunchError::Arguments)?;
    let confined: Confined = serde_json::from_str(text).map_err(|_| LaunchError::Arguments)?;
    let [program, rest @ ..] = command_line else { return Err(LaunchError::Arguments) };

    let judge = || {
        let connected = confined.watch.as_ref().map(|watch| watch::connect::connect(watch, inside));
        connected.transpose().map_err(LaunchError::Watch)
    };
    if confined.level == ConfinementLevel::None {
        if let Some(judge) = judge()? {
            judge.begin().map_err(LaunchError::Watch)?;
        }
        return Err(become_command(program, rest));
    }
    if !inside {
        roots::check_temporary(&confined.confinement)?;
        let inherited = descriptors::inherited();
        if !inherited.is_empty() {
            if closed {
                return Err(LaunchError::Descriptors(inherited));
            }
            let (shell, script) = descriptors::closer(&inherited);
            let this = this_program()?;
            let mut again: Vec<&OsStr> = vec!["-c".as_ref(), script.as_ref(), shell.as_ref()];
            again.extend([this.as_os_str(), HELPER_ARGUMENT.as_ref(), CLOSED.as_ref()]);
            again.extend(arguments.iter().map(OsString::as_os_str));
            return Err(become_command(shell.as_ref(), again));
        }
    }
    let roots = roots::plan(&confined.confinement)?;
    if confined.level == ConfinementLevel::Bubblewrap && !inside {
        let outer = confined.bubblewrap.as_deref().ok_or(LaunchError::Arguments)?;
        let this = this_program()?;
        covers::create(&roots);
        let view = bubblewrap::arguments(&confined, &roots, &this, Path::new(cwd));
        let mut wrapped: Vec<&OsStr> = view.iter().map(AsRef::as_ref).collect();
        wrapped.extend([this.as_os_str(), HELPER_ARGUMENT.as_ref(), INSIDE.as_ref()]);
        wrapped.extend(arguments.iter().map(OsString::as_os_str));
        return Err(become_command(outer.as_os_str(), wrapped));
    }
    if let (Network::Hosts(_), true) = (&confined.confinement.network, inside) {
        bridge::start().map_err(LaunchError::Bridge)?;
    }
    let judge = judge()?;
    let restored = &confined.restored;
    kernel::give_up(&confined.confinement, &roots, restored, confined.level, confined.abi)?;
    if let Some(judge) = judge {
        judge.begin().map_err(LaunchError::Watch)?;
    }
    Err(become_command(program, rest))
}

/// Replaces this process by a program. It keeps the directory, which is that of the command.
fn become_command(
    program: &OsStr,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> LaunchError {
    let source = command(program, None, Variables::Inherited, Rights::Own).args(arguments).exec();
    LaunchError::Start { program: program.to_string_lossy().into_owned(), source }
}

/// Returns the path of this program, unless the file was replaced.
pub(super) fn this_program() -> Result<PathBuf, LaunchError> {
    const SELF: &str = "/proc/self/exe";
    let path = fs::read_link(SELF).map_err(|_| LaunchError::Replaced)?;
    let same = |a: &fs::Metadata, b: &fs::Metadata| a.dev() == b.dev() && a.ino() == b.ino();
    match (fs::metadata(&path), fs::metadata(SELF)) {
        (Ok(named), Ok(running)) if same(&named, &running) => Ok(path),
        _ => Err(LaunchError::Replaced),
    }
}
