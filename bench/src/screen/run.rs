//! A program in one screen mode with one session: everything that is measured there.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::terminal::Terminal;
use crate::clock::median;
use crate::home::Home;
use crate::model::{Model, Step};
use crate::session_file::LAST_WORD;

const SIZE: (u16, u16) = (120, 40);
const SMALLER: (u16, u16) = (100, 30);
/// A program that has not come to rest by then is broken.
const LIMIT: Duration = Duration::from_secs(300);
/// A program that has not drawn its screen by then will not.
const PAINT_LIMIT: Duration = Duration::from_secs(90);
/// Longer than the time for which programs wait for further changes of the size.
const QUIET: Duration = Duration::from_millis(150);

/// How often each thing is repeated. The median counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) starts: usize,
    pub(crate) keys: usize,
    pub(crate) resizes: usize,
    pub(crate) chunks: usize,
    pub(crate) idle: Duration,
    pub(crate) pasted: usize,
}

/// CPU time and bytes written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    pub(crate) cpu: Duration,
    pub(crate) bytes: u64,
}

/// The results of one run; `None` where something was not measured.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) first_paint: Option<Duration>,
    pub(crate) settled: Option<Cost>,
    pub(crate) resident: Option<f64>,
    /// Wake-ups per second.
    pub(crate) idle: Option<f64>,
    pub(crate) key: Option<Cost>,
    pub(crate) page_up: Option<Cost>,
    pub(crate) resize: Option<Cost>,
    /// Part of a core, and frames per second.
    pub(crate) spinner: Option<(f64, f64)>,
    /// Per chunk, at 1,000 chunks per second.
    pub(crate) fast_chunk: Option<Cost>,
    /// Per chunk, at 100 chunks per second.
    pub(crate) slow_chunk: Option<Cost>,
    pub(crate) paste: Option<Cost>,
    /// The reason why the rest was not measured.
    pub(crate) failure: Option<String>,
}

/// The program, and where it runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) home: &'a Home,
    pub(crate) model: &'a Model,
    pub(crate) program: &'a [String],
    /// The screen mode, as the settings name it.
    pub(crate) mode: &'a str,
    pub(crate) session: Option<&'a Path>,
}

/// Starts the program and measures as much as works.
pub(crate) fn run(run: Run<'_>, effort: Effort) -> Results {
    let mut results = Results::default();
    if let Err(error) = measure(run, effort, &mut results) {
        results.failure = Some(error.to_string());
    }
    results
}

fn measure(run: Run<'_>, effort: Effort, results: &mut Results) -> io::Result<()> {
    let Run { home, model, program, mode, session } = run;
    home.set(mode)?;
    let mut program = program.to_vec();
    if let Some(session) = session {
        // The program appends to its session, and the next run begins with the same one.
        let copy = session.with_extension("copy.jsonl");
        fs::copy(session, &copy)?;
        let session = copy;
        program.extend(["--session".to_owned(), session.to_string_lossy().into_owned()]);
    }
    let start = || -> io::Result<(Terminal, Duration)> {
        let last_word = if session.is_some() { LAST_WORD } else { "─" };
        let mut terminal = Terminal::start(&program, SIZE, home.command("setsid"), last_word)?;
        let cpu = terminal.wait_for_paint(PAINT_LIMIT)?;
        Ok((terminal, cpu))
    };
    let mut first_paints = Vec::new();
    for _ in 1..effort.starts {
        first_paints.push(start()?.1);
    }
    let (mut terminal, cpu) = start()?;
    first_paints.push(cpu);
    results.first_paint = median(first_paints);
    terminal.settle(Duration::from_millis(500), LIMIT)?;
    results.settled = Some(Cost { cpu: terminal.usage.cpu(), bytes: terminal.output().bytes });
    results.resident = terminal.usage.resident();

    let before = terminal.usage.switches();
    thread::sleep(effort.idle);
    let switches = terminal.usage.switches() - before;
    results.idle = Some(switches as f64 / effort.idle.as_secs_f64());

    results.key = repeated(&mut terminal, effort.keys, |terminal, _| terminal.send(b"x"))?;
    terminal.send(&vec![0x7f; effort.keys])?;
    terminal.settle(QUIET, LIMIT)?;
    if mode == "fullscreen" {
        let page_up = |terminal: &mut Terminal, _| terminal.send(b"\x1b[5~");
        results.page_up = repeated(&mut terminal, effort.resizes, page_up)?;
        // Back to the end, which the answer then follows.
        terminal.send(b"\x1b[1;5F")?;
        terminal.settle(QUIET, LIMIT)?;
    }
    results.resize = repeated(&mut terminal, effort.resizes, |terminal, number| {
        terminal.resize(if number % 2 == 0 { SMALLER } else { SIZE })
    })?;
    terminal.resize(SIZE)?;
    terminal.settle(QUIET, LIMIT)?;
    answer(&mut terminal, model, effort, results)?;
    results.paste = Some(paste(&mut terminal, effort.pasted)?);
    Ok(())
}

/// Measures an answer: held, while only the spinner moves, and streamed at two speeds.
fn answer(
    terminal: &mut Terminal,
    model: &Model,
    effort: Effort,
    results: &mut Results,
) -> io::Result<()> {
    terminal.send(b"go")?;
    terminal.settle(QUIET, LIMIT)?;
    terminal.send(b"\r")?;
    model.perform(Step::Chunks { count: 1, pause: Duration::ZERO }, LIMIT)?;
    // The answer has begun to appear, and what the request left behind is done.
    thread::sleep(Duration::from_secs(1));
    let (cost, frames, elapsed) = during(terminal, |_| {
        thread::sleep(effort.idle);
        Ok(())
    })?;
    let seconds = elapsed.as_secs_f64();
    results.spinner = Some((cost.cpu.as_secs_f64() / seconds, frames as f64 / seconds));
    let mut stream = |count: usize, pause: u64| -> io::Result<Cost> {
        let pause = Duration::from_millis(pause);
        let (cost, ..) = during(terminal, |_| {
            model.perform(Step::Chunks { count, pause }, LIMIT)?;
            // The last frame.
            thread::sleep(Duration::from_millis(100));
            Ok(())
        })?;
        let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
        Ok(Cost { cpu: cost.cpu / count, bytes: cost.bytes / u64::from(count) })
    };
    results.fast_chunk = Some(stream(effort.chunks, 1)?);
    results.slow_chunk = Some(stream(effort.chunks / 10, 10)?);
    model.perform(Step::End, LIMIT)?;
    terminal.settle(Duration::from_millis(500), LIMIT)
}

fn paste(terminal: &mut Terminal, bytes: usize) -> io::Result<Cost> {
    let line = "A line of text that was copied from a log file, with some words.\n";
    let mut text = b"\x1b[200~".to_vec();
    text.extend(line.bytes().cycle().take(bytes));
    text.extend_from_slice(b"\x1b[201~");
    let (cost, ..) = during(terminal, |terminal| {
        terminal.send(&text)?;
        terminal.settle(QUIET, LIMIT)
    })?;
    Ok(cost)
}

/// Performs an action several times and returns the medians of what it costs.
fn repeated(
    terminal: &mut Terminal,
    times: usize,
    mut action: impl FnMut(&mut Terminal, usize) -> io::Result<()>,
) -> io::Result<Option<Cost>> {
    let mut costs = Vec::new();
    for number in 0..times {
        let written = terminal.output().bytes;
        let (cost, ..) = during(terminal, |terminal| {
            action(terminal, number)?;
            // A program on a busy machine may not have noticed yet, and looks settled.
            let start = Instant::now();
            while terminal.output().bytes == written && start.elapsed() < Duration::from_secs(2) {
                thread::sleep(Duration::from_millis(1));
            }
            terminal.settle(QUIET, LIMIT)
        })?;
        costs.push(cost);
    }
    let cpu = median(costs.iter().map(|cost| cost.cpu).collect());
    let bytes = median(costs.iter().map(|cost| cost.bytes).collect());
    Ok(cpu.zip(bytes).map(|(cpu, bytes)| Cost { cpu, bytes }))
}

/// Returns cost, frames and duration of an action.
fn during(
    terminal: &mut Terminal,
    action: impl FnOnce(&mut Terminal) -> io::Result<()>,
) -> io::Result<(Cost, u64, Duration)> {
    let start = Instant::now();
    let (cpu, output) = (terminal.usage.cpu(), terminal.output());
    action(terminal)?;
    let (cpu_after, after) = (terminal.usage.cpu(), terminal.output());
    let cost = Cost { cpu: cpu_after.saturating_sub(cpu), bytes: after.bytes - output.bytes };
    Ok((cost, after.frames - output.frames, start.elapsed()))
}
