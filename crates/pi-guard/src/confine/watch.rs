//! The judge of programs: asked by the kernel about every program that a watched command starts.
//!
//! The helper installs the filter that reports them, sends the listener through a socket of this
//! process, and becomes the command ([`connect`]). A thread per command receives what is reported,
//! reads which program it is ([`caller`]), and asks the caller of this crate. If this process ends,
//! the kernel refuses every further program.
//!
//! A program is judged twice: before it starts, where a refusal is an ordinary error of the call;
//! and when it has started, because its arguments could have been changed in between. Then only its
//! end is left as a refusal.

mod caller;
pub(super) mod connect;
mod elf;
mod identity;
mod observe;
mod recognize;

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pi_base::lock;
use pi_exec_watch::{Call, Event, Listener, Reported};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::program_files::ProgramFiles;
use crate::policy::{Exec, Part};
use caller::Image;
use identity::{FileId, Programs};
pub use observe::{Observed, Observer};

/// The most refused programs that are remembered.
const MOST_REFUSED: usize = 64;
/// The most programs that are remembered until they have started.
const MOST_PERMITTED: usize = 256;
const STACK: usize = 256 * 1024;

/// Decides about a program: returns the reason why it must not start. The second argument is true
/// if the command was approved ([`Watch::approved`]).
pub type ExecFilter = Arc<dyn Fn(&Exec<'_>, bool) -> Option<Part> + Send + Sync>;

/// The way in which a command is watched: by which [`ExecWatch`], and with which exceptions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    pub(super) socket: PathBuf,
    approved: bool,
    own_start: bool,
    #[serde(default)]
    observed: Observing,
}

/// The uses of files that an observer wants to know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Observing {
    /// None.
    #[default]
    Nothing,
    /// Every file that is opened or looked for.
    Uses,
    /// Every path that is changed, or opened to be changed.
    Changes,
}

impl Observing {
    fn reported(self) -> Reported {
        match self {
            Self::Nothing => Reported::Programs,
            Self::Uses => Reported::ProgramsAndFiles,
            Self::Changes => Reported::ProgramsAndChanges,
        }
    }
}

impl Watch {
    /// Tells the filter that the user approved the command.
    #[must_use]
    pub fn approved(mut self, approved: bool) -> Self {
        self.approved = approved;
        self
    }

    /// Does not judge the first program, because the caller chose it: usually the shell that runs
    /// a script.
    #[must_use]
    pub fn own_start(mut self) -> Self {
        self.own_start = true;
        self
    }

    /// The calls that the command reports.
    fn reported(&self) -> Reported {
        self.observed.reported()
    }

    /// The exceptions, as the helper sends them.
    fn flags(&self) -> u8 {
        u8::from(self.approved) | u8::from(self.own_start) << 1
    }
}

/// The judge of the programs that watched commands start. It ends when this value is dropped;
/// commands that still run then cannot start programs any more.
pub struct ExecWatch {
    socket: PathBuf,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl fmt::Debug for ExecWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecWatch").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl ExecWatch {
    /// Starts a judge with a socket in `directory`, which only the caller may access (mode 0700).
    /// Each of `programs` is recognized under any name and as a copy ([`Exec::known_as`]); `files`
    /// finds programs by their names. With an observer, commands also report the files that they
    /// use.
    pub fn start(
        directory: &Path,
        programs: Vec<(String, PathBuf)>,
        files: ProgramFiles,
        filter: ExecFilter,
        observer: Option<Observer>,
    ) -> io::Result<Self> {
        let mut programs = Programs::new(programs, files);
        let socket = directory.join("watch");
        let listener = UnixListener::bind(&socket)?;
        // The clock of files, which is coarser than that of this process.
        programs.started = socket.metadata()?.modified()?;
        let shared = Arc::new(Shared {
            filter,
            programs,
            observer,
            ended: AtomicBool::new(false),
            refused: Mutex::default(),
        });
        let for_thread = Arc::clone(&shared);
        let accepting = thread::Builder::new()
            .name("pi-exec-watch".to_owned())
            .stack_size(STACK)
            .spawn(move || accept(&listener, &for_thread))?;
        Ok(Self { socket, shared, accepting: Some(accepting) })
    }

    /// Returns how commands are watched by this judge.
    pub fn watch(&self) -> Watch {
        let observed = self.shared.observing();
        Watch { socket: self.socket.clone(), approved: false, own_start: false, observed }
    }

    /// Returns the programs that were refused since the last call: at most 64, each command once.
    pub fn take_refused(&self) -> Vec<Part> {
        std::mem::take(&mut *lock(&self.shared.refused))
    }
}

impl Drop for ExecWatch {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // The accepting thread waits for a connection.
        let woken = UnixStream::connect(&self.socket).is_ok();
        let _ = fs::remove_file(&self.socket);
        if let (Some(accepting), true) = (self.accepting.take(), woken) {
            let _ = accepting.join();
        }
    }
}

/// What the threads of all commands share.
struct Shared {
    filter: ExecFilter,
    programs: Programs,
    observer: Option<Observer>,
    ended: AtomicBool,
    refused: Mutex<Vec<Part>>,
}

impl Shared {
    fn observing(&self) -> Observing {
        self.observer.as_ref().map_or(Observing::Nothing, |observer| observer.observing())
    }

    fn note_refused(&self, refused: Part) {
        let mut kept = lock(&self.refused);
        if kept.len() < MOST_REFUSED && !kept.iter().any(|other| other.what == refused.what) {
            kept.push(refused);
        }
    }
}

fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    for helper in listener.incoming() {
        if shared.ended.load(Ordering::SeqCst) {
            return;
        }
        let Ok(helper) = helper else {
            // Usually too many open files: wait until some are closed.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let shared = Arc::clone(shared);
        let builder = thread::Builder::new().name("pi-exec-watch".to_owned()).stack_size(STACK);
        // Without a thread the listener is closed, and the command starts nothing.
        drop(builder.spawn(move || {
            if let Ok((listener, flags)) = connect::receive(&helper) {
                drop(helper);
                let listener = Listener::new(listener, shared.observing().reported());
                Judge::new(listener, shared, flags).run();
            }
        }));
    }
}

/// The judge of one command.
struct Judge {
    listener: Listener,
    shared: Arc<Shared>,
    approved: bool,
    start: Start,
    /// Programs that may start, by the thread that starts each.
    permitted: HashMap<u32, Permitted>,
}

/// A program that may start.
struct Permitted {
    image: Image,
    /// What it becomes is known only when it has started.
    is_open: bool,
}

/// How far the first program is that is not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The helper has not been heard of.
    Expected,
    /// This thread, which runs this file, is the helper and looks for the program.
    Helper(u32, Option<FileId>),
    Done,
}

impl Judge {
    fn new(listener: Listener, shared: Arc<Shared>, flags: u8) -> Self {
        let start = if flags & 2 == 0 { Start::Done } else { Start::Expected };
        let permitted = HashMap::new();
        Self { listener, shared, approved: flags & 1 != 0, start, permitted }
    }

    /// Judges everything that is reported, until no process of the command is left.
    fn run(mut self) {
        // After an error the listener is closed, and the command starts nothing any more.
        while let Ok(Some(event)) = self.listener.next_event() {
            if let Call::File { directory, path, use_of } = event.call {
                if let Some(observer) = &self.shared.observer
                    && let Some(path) = caller::used_path(event.thread, directory, path)
                {
                    observer.file(event.thread, path, use_of);
                }
                let _ = self.listener.permit(&event);
                continue;
            }
            if let Call::Change { first, second } = event.call {
                if let Some(observer) = &self.shared.observer {
                    let paths = [Some(first), second].into_iter().flatten();
                    let paths = paths.filter_map(|(directory, path)| {
                        caller::used_path(event.thread, directory, path)
                    });
                    observer.change(paths.collect(), second.is_some());
                }
                let _ = self.listener.permit(&event);
                continue;
            }
            // An answer fails if the process was killed meanwhile.
            let _ = if self.is_own_start(&event) || self.is_allowed(&event) {
                self.listener.permit(&event)
            } else {
                self.listener.refuse(&event)
            };
        }
    }

    /// Returns true for the first program of the command: the helper tries one or more paths for
    /// it, and becomes it.
    fn is_own_start(&mut self, event: &Event) -> bool {
        let is_exec = event.call != Call::Started;
        let file = || FileId::of(&caller::program(event.thread));
        match self.start {
            Start::Expected if is_exec => {
                self.start = Start::Helper(event.thread, file());
                true
            }
            Start::Helper(helper, program) if helper == event.thread => {
                let tries_again = is_exec && file() == program;
                if !tries_again {
                    self.start = Start::Done;
                }
                tries_again || !is_exec
            }
            Start::Expected | Start::Helper(..) | Start::Done => false,
        }
    }

    /// Judges a call. A process that has become a program that it must not be is killed.
    fn is_allowed(&mut self, event: &Event) -> bool {
        let has_started = event.call == Call::Started;
        let permitted = self.permitted.remove(&event.thread);
        let expected = permitted.as_ref().map(|permitted| &permitted.image);
        // What cannot be read before a program starts is read when it has started. Programs are
        // often searched for by trying paths that do not exist.
        let Ok(mut image) = caller::read(event, expected) else { return !has_started };
        let is_expected = has_started && expected == Some(&image);
        if is_expected && permitted.is_some_and(|permitted| !permitted.is_open) {
            return true;
        }
        if let Some(observer) = self.shared.observer.as_ref().filter(|_| !is_expected) {
            observer.program(event.thread, &image);
        }
        let (refused, is_open) = self.shared.judge(&mut image, event, self.approved);
        if let Some(refused) = refused {
            // If the process is gone, its number may be that of another. A permission for it
            // reaches no one, but a refusal would be reported.
            if self.listener.is_pending(event) {
                self.shared.note_refused(refused);
                if has_started {
                    self.kill(event);
                }
            }
            return false;
        }
        // Threads that found no program leave some behind.
        if self.permitted.len() > MOST_PERMITTED {
            self.permitted.clear();
        }
        if !has_started {
            image.found = None;
            self.permitted.insert(event.thread, Permitted { image, is_open });
        }
        true
    }

    /// Kills the process of a call. If that fails, the call still does: programs do not continue
    /// without it.
    fn kill(&self, event: &Event) {
        let process = i32::try_from(event.thread).ok().and_then(Pid::from_raw);
        let opened = process.and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok());
        if let Some(process) = opened
            && self.listener.is_pending(event)
        {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}
