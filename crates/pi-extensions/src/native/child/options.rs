//! What to start: program, streams, limits.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rquickjs::{Ctx, FromJs as _, Object, Value};

use super::running::Running;
use crate::access::Launch;
use crate::error::NativeError;
use crate::host::Host;
use crate::host_process::InheritedStreams;
use crate::native::errno;
use crate::native::fs::Descriptors;
use crate::value::Bytes;

/// Where a standard stream leads.
#[derive(Debug, Clone)]
enum Target {
    Pipe,
    Ignore,
    Inherit,
    File(Arc<File>),
}

/// What to start, as JavaScript says it.
#[derive(Debug)]
pub(super) struct SpawnOptions {
    launch: Launch,
    /// The name in errors, which is not always that of the program.
    name: String,
    streams: [Target; 3],
    inherited: InheritedStreams,
    arg0: Option<String>,
    uid: Option<u32>,
    gid: Option<u32>,
    is_detached: bool,
    limits: SyncLimits,
}

/// Input and limits of a program that JavaScript waits for.
#[derive(Debug, Default)]
pub(super) struct SyncLimits {
    pub(super) input: Vec<u8>,
    pub(super) timeout: Option<Duration>,
    pub(super) kill_signal: i32,
    pub(super) most_output: usize,
}

impl SpawnOptions {
    /// Reads the object that `js/node/child_process.js` makes.
    pub(super) fn from_js<'js>(
        ctx: &Ctx<'js>,
        host: &Host,
        object: &Object<'js>,
    ) -> rquickjs::Result<Self> {
        let program: String = object.get("program")?;
        let words: Vec<String> = object.get("args")?;
        let variables: Vec<String> = object.get("env")?;
        let pairs = variables.chunks_exact(2).filter_map(|pair| match pair {
            [name, value] => Some((OsString::from(name), OsString::from(value))),
            _ => None,
        });
        let cwd: Option<String> = object.get("cwd")?;
        let cwd =
            cwd.map_or_else(|| host.process.cwd(), |cwd| host.process.absolute(Path::new(&cwd)));
        let launch = Launch {
            program: program.clone().into(),
            arguments: words.into_iter().map(Into::into).collect(),
            cwd,
            variables: pairs.collect(),
            search: host.process.options.variables.get("PATH").cloned(),
            confined: None,
        };
        let input: Option<Value<'js>> = object.get("input")?;
        let input = match input.filter(|input| !input.is_null() && !input.is_undefined()) {
            Some(input) => Bytes::from_js(ctx, input)?.0,
            None => Vec::new(),
        };
        let timeout: Option<f64> = object.get("timeout")?;
        let most_output: Option<f64> = object.get("maxBuffer")?;
        let most_output = most_output.filter(|most| most.is_finite());
        let [stdin, stdout, stderr] = ["stdin", "stdout", "stderr"];
        Ok(Self {
            launch,
            name: program,
            streams: [
                target(ctx, host, object.get(stdin)?)?,
                target(ctx, host, object.get(stdout)?)?,
                target(ctx, host, object.get(stderr)?)?,
            ],
            inherited: (host.process.options.inherited)(),
            arg0: object.get("argv0")?,
            uid: object.get("uid")?,
            gid: object.get("gid")?,
            is_detached: object.get::<_, Option<bool>>("detached")?.unwrap_or(false),
            limits: SyncLimits {
                input,
                timeout: timeout.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()),
                kill_signal: object.get::<_, Option<i32>>("killSignal")?.unwrap_or(15),
                most_output: most_output.map_or(usize::MAX, |most| most as usize),
            },
        })
    }

    /// Asks for access, and returns the command that is then allowed.
    pub(super) fn launch(self, host: &Host) -> Result<Prepared, NativeError> {
        let permission = host.access.run(self.launch)?;
        let launch = host.block(|| permission.wait())?;
        let failed = |error: std::io::Error| errno::call_error(errno::number(&error), "spawn");
        let mut command = launch.command();
        // The name of the helper must stay, so that it is recognized.
        if let Some(name) = &self.arg0
            && launch.confined.is_none()
        {
            command.arg0(name);
        }
        if let Some(uid) = self.uid {
            command.uid(uid);
        }
        if let Some(gid) = self.gid {
            command.gid(gid);
        }
        if self.is_detached {
            command.process_group(0);
        }
        let [stdin, stdout, stderr] = self.streams;
        command.stdin(stdin.input(self.inherited).map_err(failed)?);
        command.stdout(stdout.output(self.inherited, false).map_err(failed)?);
        command.stderr(stderr.output(self.inherited, true).map_err(failed)?);
        Ok(Prepared {
            command,
            name: self.name,
            is_detached: self.is_detached,
            confined: launch.confined,
            limits: self.limits,
        })
    }
}

/// A command that may be started.
pub(super) struct Prepared {
    pub(super) command: std::process::Command,
    pub(super) name: String,
    pub(super) is_detached: bool,
    pub(super) confined: Option<Arc<pi_guard::confine::Examination>>,
    pub(super) limits: SyncLimits,
}

impl Prepared {
    /// Starts the command on the current tokio runtime.
    pub(super) fn start(self) -> Result<Running, NativeError> {
        let Self { command, name, is_detached, confined, .. } = self;
        Running::start(command, is_detached, confined).map_err(|error| {
            let number = errno::number(&error);
            errno::call_error(number, &format!("spawn {name}")).with("path", name.as_str())
        })
    }
}

fn target<'js>(ctx: &Ctx<'js>, host: &Host, value: Value<'js>) -> rquickjs::Result<Target> {
    if let Some(number) = value.as_number() {
        let number = number as i32;
        if (0..=2).contains(&number) {
            return Ok(Target::Inherit);
        }
        let file = host.area::<Descriptors>().get(number);
        let unknown = || errno::call_error(rustix::io::Errno::BADF, "spawn").throw(ctx);
        return file.map(Target::File).ok_or_else(unknown);
    }
    Ok(match String::from_js(ctx, value)?.as_str() {
        "pipe" => Target::Pipe,
        "inherit" => Target::Inherit,
        _ => Target::Ignore,
    })
}

impl Target {
    fn input(&self, inherited: InheritedStreams) -> std::io::Result<Stdio> {
        Ok(match self {
            Self::Pipe => Stdio::piped(),
            Self::File(file) => file.try_clone()?.into(),
            // Otherwise the input belongs to the protocol of this program.
            Self::Inherit if inherited == InheritedStreams::Terminal => Stdio::inherit(),
            Self::Inherit | Self::Ignore => Stdio::null(),
        })
    }

    fn output(&self, inherited: InheritedStreams, is_stderr: bool) -> std::io::Result<Stdio> {
        Ok(match (self, inherited) {
            (Self::Pipe, _) => Stdio::piped(),
            (Self::File(file), _) => file.try_clone()?.into(),
            (Self::Inherit, InheritedStreams::Terminal) => Stdio::inherit(),
            (Self::Inherit, InheritedStreams::Stderr) if is_stderr => Stdio::inherit(),
            (Self::Inherit, InheritedStreams::Stderr) => {
                std::io::stderr().as_fd().try_clone_to_owned()?.into()
            }
            (Self::Inherit, InheritedStreams::Nothing) | (Self::Ignore, _) => Stdio::null(),
        })
    }
}
