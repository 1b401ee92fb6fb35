//! The process: variables, working directory, signals, times and memory.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use rquickjs::{Ctx, Function, Object};
use rustix::process::{Pid, Signal};
use serde_json::json;
use tokio::signal::unix::SignalKind;

use crate::access::{FileAccess, Links};
use crate::error::NativeError;
use crate::host::Host;
use crate::native::errno;
use crate::value::Json;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    install_variables(ctx, host, &object)?;
    install_directory(ctx, host, &object)?;
    install_signals(ctx, host, &object)?;
    let state = host.clone();
    object.set(
        "facts",
        Function::new(ctx.clone(), move || {
            let options = &state.process.options;
            let executable = options.executable.to_string_lossy();
            let mut arguments =
                vec![executable.clone().into_owned(), executable.clone().into_owned()];
            arguments.extend(options.arguments.iter().cloned());
            Json(json!({
                "pid": std::process::id(),
                "ppid": rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get()),
                "uid": rustix::process::getuid().as_raw(),
                "gid": rustix::process::getgid().as_raw(),
                "euid": rustix::process::geteuid().as_raw(),
                "egid": rustix::process::getegid().as_raw(),
                "executable": executable,
                "arguments": arguments,
            }))
        })?,
    )?;
    let started = Instant::now();
    // Nanoseconds since the start of the thread.
    object.set(
        "nanoseconds",
        Function::new(ctx.clone(), move || started.elapsed().as_nanos() as f64)?,
    )?;
    object.set(
        "memory",
        Function::new(ctx.clone(), |ctx: Ctx<'js>| {
            let used = crate::engine::raw::memory_used(&ctx);
            Json(json!({ "resident": resident(), "used": used }))
        })?,
    )?;
    object.set("peakMemory", Function::new(ctx.clone(), peak)?)?;
    let (user, system) = (AtomicU64::new(0), AtomicU64::new(0));
    // Microseconds of this process in its own code and in the system.
    object.set(
        "processorTime",
        Function::new(ctx.clone(), move || {
            let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
            let used = used.tv_sec as u64 * 1_000_000 + used.tv_nsec as u64 / 1000;
            let in_system = system_time()?;
            // The system counts its part in ticks. Neither part runs backward when one ends.
            let in_system = system.fetch_max(in_system, Relaxed).max(in_system);
            let own = used.saturating_sub(in_system);
            let own = user.fetch_max(own, Relaxed).max(own);
            Some(Json(json!({ "user": own, "system": in_system })))
        })?,
    )?;
    Ok(object)
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

fn install_variables<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    object: &Object<'js>,
) -> rquickjs::Result<()> {
    let state = host.clone();
    object.set(
        "variable",
        Function::new(ctx.clone(), move |name: String| state.process.variable(&name))?,
    )?;
    let state = host.clone();
    object.set(
        "setVariable",
        Function::new(ctx.clone(), move |name: String, value: Option<String>| {
            state.process.set_variable(name, value);
        })?,
    )?;
    let state = host.clone();
    object.set(
        "variableNames",
        Function::new(ctx.clone(), move || {
            state.process.variables().into_keys().collect::<Vec<_>>()
        })?,
    )
}

fn install_directory<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    object: &Object<'js>,
) -> rquickjs::Result<()> {
    let state = host.clone();
    object.set(
        "cwd",
        Function::new(ctx.clone(), move || state.process.cwd().to_string_lossy().into_owned())?,
    )?;
    let state = host.clone();
    object.set(
        "chdir",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, directory: String| {
            change_directory(&state, &directory).map_err(|error| error.throw(&ctx))
        })?,
    )?;
    let state = host.clone();
    object.set(
        "umask",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, mask: Option<u32>| {
            // The mask belongs to the whole program.
            if mask.is_some() {
                state.access.processes().map_err(|error| error.throw(&ctx))?;
            }
            let new = rustix::fs::Mode::from_raw_mode(mask.unwrap_or(0o022));
            let old = rustix::process::umask(new);
            if mask.is_none() {
                rustix::process::umask(old);
            }
            rquickjs::Result::Ok(old.as_raw_mode())
        })?,
    )
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

fn install_signals<'js>(ctx: &Ctx<'js>, host: &Host, object: &Object<'js>) -> rquickjs::Result<()> {
    let state = host.clone();
    object.set(
        "kill",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, pid: i32, signal: i32| {
            kill(&state, pid, signal).map_err(|error| error.throw(&ctx))
        })?,
    )?;
    let state = host.clone();
    // Resolves when this process receives a signal.
    object.set(
        "nextSignal",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, number: i32| {
            let signal = tokio::signal::unix::signal(SignalKind::from_raw(number));
            let failed =
                |error: &std::io::Error| errno::call_error(errno::number(error), "uv_signal_start");
            let mut signal = signal.map_err(|error| failed(&error).throw(&ctx))?;
            state.promise(&ctx, async move {
                signal.recv().await;
                Ok(())
            })
        })?,
    )
}

/// Sends a signal to a process, or to a process group if the number is negative; 0 only tests it.
fn kill(host: &Host, pid: i32, signal: i32) -> Result<(), NativeError> {
    let failed = |number| errno::call_error(number, "kill");
    if !host.children.is_own(pid.unsigned_abs()) && signal != 0 {
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
