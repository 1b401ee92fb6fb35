//! `compare A B [AREA...]`: two builds of the program, measured in turns, so that a change of the
//! machine's speed affects both.
//!
//! The builds run with the same home, the same session and the same model. Every figure is the
//! median of its rounds.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::time::Duration;

use crate::clock::{children, median};
use crate::program::Bench;
use crate::screen::{Effort, Run, run};
use crate::table::{Table, micros, millis, none};

const CHUNKS: usize = 20_000;
const LONG_SESSION: usize = 40_000;
const SCREEN_SESSION: usize = 10_000;

/// The figures of one round of one build: row, unit and number.
type Figures = Vec<(&'static str, &'static str, Option<f64>)>;

/// A piece of work that measures a build once.
type Round<'a> = Box<dyn FnMut(&str) -> io::Result<Figures> + 'a>;

/// Creates the data of an area and returns the number of its rounds with their work.
pub(crate) type Area = fn(&Bench, bool) -> io::Result<(usize, Round<'_>)>;

/// The areas, in the order in which they run without a selection.
pub(crate) const AREAS: &[(&str, Area)] =
    &[("start", start), ("streaming", streaming), ("rpc", rpc), ("screen", screen)];

/// Measures both builds in turns.
pub(crate) fn table(
    area: Area,
    first: &str,
    second: &str,
    quick: bool,
) -> Result<Table, Box<dyn Error>> {
    let bench = Bench::create()?;
    let builds = [first, second].map(std::path::absolute);
    let [first, second] = builds.map(|path| path.map(|path| path.to_string_lossy().into_owned()));
    let builds = [first?, second?];
    let (rounds, mut work) = area(&bench, quick)?;
    let mut rows: Vec<Row> = Vec::new();
    for round in 0..=rounds {
        for (build, program) in builds.iter().enumerate() {
            let figures = work(program)?;
            // The first round fills caches.
            if round > 0 {
                add(&mut rows, build, figures);
            }
        }
    }
    let title = format!("A {}, B {}; medians of {rounds} rounds in turns", builds[0], builds[1]);
    let mut table = Table::new(title, &["what", "A", "B", "B / A"]);
    rows.iter().for_each(|row| table.row(row.cells()));
    Ok(table)
}

/// A row of the table, with the figures of all rounds by build.
#[derive(Debug)]
struct Row {
    what: &'static str,
    unit: &'static str,
    figures: BTreeMap<usize, Vec<f64>>,
}

fn add(rows: &mut Vec<Row>, build: usize, figures: Figures) {
    for (what, unit, figure) in figures {
        let at = rows.iter().position(|row| row.what == what).unwrap_or_else(|| {
            rows.push(Row { what, unit, figures: BTreeMap::new() });
            rows.len() - 1
        });
        rows[at].figures.entry(build).or_default().extend(figure);
    }
}

impl Row {
    fn cells(&self) -> [String; 4] {
        let middle = |build: usize| self.figures.get(&build).cloned().and_then(median);
        let [a, b] = [middle(0), middle(1)];
        let text = |figure: Option<f64>| {
            figure.map_or_else(none, |figure| format!("{figure:.2} {}", self.unit))
        };
        let ratio = a.zip(b).filter(|(a, _)| *a > 0.0).map(|(a, b)| format!("{:.2}", b / a));
        [self.what.to_owned(), text(a), text(b), ratio.unwrap_or_else(none)]
    }
}

/// Returns the CPU time of children during some work, in milliseconds.
fn cpu(work: impl FnOnce() -> io::Result<()>) -> io::Result<Option<f64>> {
    let before = children();
    work()?;
    Ok(Some(millis(children().saturating_sub(before))))
}

fn start(bench: &Bench, quick: bool) -> io::Result<(usize, Round<'_>)> {
    let round = |pi: &str| {
        Ok(vec![
            ("`--version`", "ms", cpu(|| bench.version(pi))?),
            ("`-p hi`", "ms", cpu(|| bench.print(pi, 1))?),
            ("`-p hi`, peak memory", "MB", bench.memory(pi)?),
        ])
    };
    Ok((if quick { 5 } else { 40 }, Box::new(round)))
}

fn streaming(bench: &Bench, quick: bool) -> io::Result<(usize, Round<'_>)> {
    let round = |pi: &str| {
        let answer = cpu(|| bench.print(pi, CHUNKS))?;
        Ok(vec![("`-p`, an answer of 20,000 chunks", "ms", answer)])
    };
    Ok((if quick { 3 } else { 20 }, Box::new(round)))
}

fn rpc(bench: &Bench, quick: bool) -> io::Result<(usize, Round<'_>)> {
    let session = bench.home.session(LONG_SESSION)?;
    let round = move |pi: &str| {
        let mut peak = None;
        let state = cpu(|| {
            peak = bench.state(pi, &session)?;
            Ok(())
        })?;
        Ok(vec![
            ("RPC `get_state`, 40,000 messages", "ms", state),
            ("RPC `get_state`, peak memory", "MB", peak),
        ])
    };
    Ok((if quick { 3 } else { 15 }, Box::new(round)))
}

fn screen(bench: &Bench, quick: bool) -> io::Result<(usize, Round<'_>)> {
    let session = bench.home.session(SCREEN_SESSION)?;
    let effort = Effort {
        starts: 1,
        keys: if quick { 10 } else { 30 },
        resizes: 1,
        chunks: if quick { 500 } else { 2_000 },
        idle: Duration::from_millis(500),
        pasted: 1_000,
    };
    let round = move |pi: &str| {
        let program = [pi.to_owned()];
        let measure = |session| {
            let (home, model, program) = (&bench.home, &bench.model, &program[..]);
            run(Run { home, model, program, mode: "regular", session }, effort)
        };
        let (empty, long) = (measure(None), measure(Some(session.as_path())));
        if let Some(failure) = empty.failure.or(long.failure) {
            return Err(io::Error::other(failure));
        }
        Ok(vec![
            ("first paint, empty", "ms", empty.first_paint.map(millis)),
            ("resident, empty", "MB", empty.resident),
            ("first paint, 10,000 messages", "ms", long.first_paint.map(millis)),
            ("resident, 10,000 messages", "MB", long.resident),
            ("keystroke, 10,000 messages", "µs", long.key.map(|key| micros(key.cpu))),
            ("chunk, 1,000 per second", "µs", empty.fast_chunk.map(|chunk| micros(chunk.cpu))),
        ])
    };
    Ok((if quick { 1 } else { 5 }, Box::new(round)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_medians_and_their_ratio() {
        let mut rows = Vec::new();
        for (a, b) in [(1.0, 3.0), (9.0, 2.0), (2.0, 1.0)] {
            add(&mut rows, 0, vec![("time", "ms", Some(a)), ("memory", "MB", None)]);
            add(&mut rows, 1, vec![("time", "ms", Some(b)), ("memory", "MB", Some(4.0))]);
        }
        assert_eq!(rows[0].cells(), ["time", "2.00 ms", "2.00 ms", "1.00"]);
        assert_eq!(rows[1].cells(), ["memory", "–", "4.00 MB", "–"]);
    }

    #[test]
    fn both_builds_are_measured_in_turns() {
        // `true` accepts all arguments, so it can stand for a build that only starts.
        let area: Area = |bench, _| {
            let work = |pi: &str| Ok(vec![("start", "ms", cpu(|| bench.version(pi))?)]);
            Ok((2, Box::new(work)))
        };
        let table = table(area, "/bin/true", "/bin/true", true).unwrap().to_string();
        assert!(table.starts_with("A /bin/true, B /bin/true; medians of 2 rounds"), "{table}");
        assert!(table.contains("| start | "), "{table}");
        assert!(super::table(area, "/bin/false", "/bin/true", true).is_err());
    }
}
