//! The operating system: `node:os`, and what `process` says of it.

use std::collections::BTreeMap;

use rustix::process::{Pid, getgid, getuid};
use serde_json::{Value, json};

use crate::error::NativeError;
use crate::host::Natives;
use crate::native::errno;

pub(super) const FUNCTIONS: Natives = &[
    ("facts", |call| call.reply(facts())),
    ("load", |call| call.reply(load())),
    ("processors", |call| call.reply(processors())),
    ("parallelism", |call| call.reply(parallelism())),
    ("priority", |call| call.reply(priority(call.integer(0)?)?)),
    ("user", |call| call.reply(user())),
    ("errors", |call| call.reply(json!(errno::all().collect::<BTreeMap<&str, i32>>()))),
    ("interfaces", |call| call.reply(super::os_network::interfaces())),
];

/// Facts that do not change.
fn facts() -> Value {
    let name = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    json!({
        "hostname": text(name.nodename()),
        "release": text(name.release()),
        "version": text(name.version()),
        "machine": text(name.machine()),
        "type": text(name.sysname()),
        "platform": if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS },
        "arch": match std::env::consts::ARCH {
            "x86_64" => "x64",
            "x86" => "ia32",
            "aarch64" => "arm64",
            other => other,
        },
        "isLittleEndian": cfg!(target_endian = "little"),
    })
}

/// Memory in bytes, time since the start of the machine in seconds, and load.
fn load() -> Value {
    #[cfg(target_os = "linux")]
    {
        let found = rustix::system::sysinfo();
        let unit = u64::from(found.mem_unit);
        // The kernel counts caches as used; `MemAvailable` is what Node reports as free.
        let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
            line.trim().trim_end_matches(" kB").parse::<u64>().ok()
        });
        let free = available.map_or(found.freeram as u64 * unit, |kilobytes| kilobytes * 1024);
        let loads = found.loads.map(|load| load as f64 / 65536.0);
        json!({
            "total": found.totalram as u64 * unit,
            "free": free,
            "uptime": found.uptime,
            "average": loads,
        })
    }
    #[cfg(not(target_os = "linux"))]
    json!({})
}

/// Returns the priority of a process; 0 is this one.
fn priority(pid: i32) -> Result<i32, NativeError> {
    let found = match pid {
        0.. => rustix::process::getpriority_process(Pid::from_raw(pid)),
        _ => Err(rustix::io::Errno::SRCH),
    };
    found.map_err(|number| errno::call_error(number, "uv_os_getpriority"))
}

/// The processors: model, speed in MHz, and times in milliseconds, `null` if the system does not
/// tell them.
fn processors() -> Value {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |line: &str| line.split_once(':').map(|(_, value)| value.trim().to_owned());
    let of = |name: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with(name)).filter_map(value).collect()
    };
    let models = of("model name");
    let speeds: Vec<f64> = of("cpu MHz").iter().filter_map(|speed| speed.parse().ok()).collect();
    let count = models.len().max(parallelism());
    let times = processor_times(&std::fs::read_to_string("/proc/stat").unwrap_or_default());
    let one = |at: usize| {
        let times = times.get(at);
        let model = models.get(at).cloned().unwrap_or_else(|| "unknown".to_owned());
        let speed = speeds.get(at).copied().unwrap_or(0.0).floor();
        json!({ "model": model, "speed": speed, "times": times })
    };
    Value::Array((0..count).map(one).collect())
}

/// Returns the number of processors that this process may use.
fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Reads the lines `cpu0 user nice system idle iowait irq ...`, which count clock ticks.
fn processor_times(text: &str) -> Vec<Value> {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    let lines = text.lines().filter_map(|line| line.strip_prefix("cpu"));
    // The first line is the sum, and has no number.
    let lines = lines.filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let one = |line: &str| {
        let ticks = line.split_whitespace().skip(1).map(str::parse::<u64>);
        let ticks = ticks.collect::<Result<Vec<_>, _>>().ok()?;
        let [user, nice, sys, idle, _, irq, ..] = ticks[..] else { return None };
        let time = |ticks: u64| ticks.saturating_mul(1000) / per_second;
        let (user, nice, sys) = (time(user), time(nice), time(sys));
        Some(
            json!({ "user": user, "nice": nice, "sys": sys, "idle": time(idle), "irq": time(irq) }),
        )
    };
    lines.filter_map(one).collect()
}

/// The user of this process, from the list of users.
fn user() -> Value {
    let (uid, gid) = (getuid().as_raw(), getgid().as_raw());
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let own = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let own = own.into_iter().find(|fields| fields.get(2) == Some(&uid.to_string().as_str()));
    let field = |at: usize| own.as_ref().and_then(|fields| fields.get(at).copied());
    json!({
        "uid": uid,
        "gid": gid,
        "username": field(0),
        "homedir": field(5),
        "shell": field(6),
    })
}
