//! The process: variables, working directory, signals, times and memory.

use std::cell::Cell;
use std::path::Path;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tokio::signal::unix::SignalKind;

use crate::access::{FileAccess, Links};
use crate::error::NativeError;
use crate::host::{Host, Natives};
use crate::native::child::Children;
use crate::native::errno;

/// Times of this process as far as they were reported.
#[derive(Default)]
struct Times {
    user: Cell<u64>,
    system: Cell<u64>,
}

pub(super) const FUNCTIONS: Natives = &[
    ("variable", |call| call.reply(call.host.process.variable(&call.text(0)?))),
    ("setVariable", |call| {
        call.host.process.set_variable(call.text(0)?, call.optional_text(1)?);
        call.done()
    }),
    ("variableNames", |call| {
        call.reply(call.host.process.variables().into_keys().collect::<Vec<_>>())
    }),
    ("cwd", |call| call.reply(call.host.process.cwd().to_string_lossy().into_owned())),
    ("chdir", |call| call.reply(change_directory(call.host, &call.text(0)?)?)),
    ("umask", |call| {
        let mask = call.optional_id(0)?;
        // The mask belongs to the whole program.
        if mask.is_some() {
            call.host.access.processes()?;
        }
        let new = rustix::fs::Mode::from_raw_mode(mask.unwrap_or(0o022));
        let old = rustix::process::umask(new);
        if mask.is_none() {
            rustix::process::umask(old);
        }
        call.reply(old.as_raw_mode())
    }),
    ("kill", |call| call.reply(kill(call.host, call.integer(0)?, call.integer(1)?)?)),
    // Resolves when this process receives a signal.
    ("nextSignal", |call| {
        let signal = tokio::signal::unix::signal(SignalKind::from_raw(call.integer(0)?));
        let failed =
            |error: std::io::Error| errno::call_error(errno::number(&error), "uv_signal_start");
        let mut signal = signal.map_err(failed)?;
        call.promise(async move { Ok(signal.recv().await.into()) })
    }),
    ("facts", |call| call.reply(facts(call.host))),
    // Nanoseconds since the start of the thread.
    ("nanoseconds", |call| call.reply(call.host.started.elapsed().as_nanos() as f64)),
    ("memory", |call| {
        let used = crate::engine::raw::memory_used(call.ctx());
        call.reply(json!({ "resident": resident(), "used": used }))
    }),
    ("peakMemory", |call| call.reply(peak())),
    // Microseconds of this process in its own code and in the system.
    ("processorTime", |call| {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let used = used.tv_sec as u64 * 1_000_000 + used.tv_nsec as u64 / 1000;
        let Some(in_system) = system_time() else { return call.done() };
        // The system counts its part in ticks. Neither part runs backward when one ends.
        let times = call.host.area::<Times>();
        times.system.set(times.system.get().max(in_system));
        times.user.set(times.user.get().max(used.saturating_sub(times.system.get())));
        call.reply(json!({ "user": times.user.get(), "system": times.system.get() }))
    }),
];

fn facts(host: &Host) -> Value {
    let options = &host.process.options;
    let executable = options.executable.to_string_lossy();
    let mut arguments = vec![executable.clone().into_owned(), executable.clone().into_owned()];
    arguments.extend(options.arguments.iter().cloned());
    json!({
        "pid": std::process::id(),
        "ppid": rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get()),
        "uid": rustix::process::getuid().as_raw(),
        "gid": rustix::process::getgid().as_raw(),
        "euid": rustix::process::geteuid().as_raw(),
        "egid": rustix::process::getegid().as_raw(),
        "executable": executable,
        "arguments": arguments,
    })
}

/// Returns the microseconds that this process spent in the system. `None` if they are not known.
fn system_time() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may have spaces. `stime` is the 15th field.
    let (_, fields) = text.rsplit_once(')')?;
    let ticks: u64 = fields.split_whitespace().nth(12)?.parse().ok()?;
    Some(ticks.saturating_mul(1_000_000) / rustix::param::clock_ticks_per_second().max(1))
}

/// Returns the largest number of kilobytes of memory that this process had.
fn peak() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Returns the bytes of memory of this process.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

fn change_directory(host: &Host, given: &str) -> Result<(), NativeError> {
    let path = host.process.absolute(Path::new(given));
    let permission = host.access.file(&path, FileAccess::Read, Links::Follow)?;
    let path = host.block(|| permission.wait())?;
    let from = host.process.cwd().to_string_lossy().into_owned();
    let failed = |number| errno::file_error(number, "chdir", Some(&from), Some(given));
    let real = path.canonicalize().map_err(|error| failed(errno::number(&error)))?;
    if !real.is_dir() {
        return Err(failed(rustix::io::Errno::NOTDIR));
    }
    host.process.set_cwd(real);
    Ok(())
}

/// Sends a signal to a process, or to a process group if the number is negative; 0 only tests it.
fn kill(host: &Host, pid: i32, signal: i32) -> Result<(), NativeError> {
    let failed = |number| errno::call_error(number, "kill");
    if !host.area::<Children>().is_own(pid.unsigned_abs()) && signal != 0 {
        host.access.processes()?;
    }
    let group = Pid::from_raw(pid.checked_abs().unwrap_or(0)).filter(|_| pid != 0);
    let sent = match (group, named(signal)) {
        (Some(group), Some(signal)) if pid < 0 => {
            rustix::process::kill_process_group(group, signal)
        }
        (Some(process), Some(signal)) => rustix::process::kill_process(process, signal),
        (Some(group), None) if signal == 0 && pid < 0 => {
            rustix::process::test_kill_process_group(group)
        }
        (Some(process), None) if signal == 0 => rustix::process::test_kill_process(process),
        (None, Some(signal)) => rustix::process::kill_current_process_group(signal),
        (None, None) if signal == 0 => rustix::process::test_kill_current_process_group(),
        _ => Err(rustix::io::Errno::INVAL),
    };
    sent.map_err(failed)
}

/// Returns the signal of a number.
pub(super) fn named(number: i32) -> Option<Signal> {
    Signal::from_named_raw(number)
}
