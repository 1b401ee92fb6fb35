//! The plain loop: `pi` on a terminal that cannot move its cursor.
//!
//! Not here: `repetition`, which only modes without a user detect.

use rustix::process::Signal;

use super::client::{Step, Streams};
use super::situations::{Ending, Situation, all_but, two_answers};
use super::{Row, check};

/// Waits until the loop reads the next line.
const READY: Step = Step::Seen("> ");

#[test]
fn plain() {
    let mut rows: Vec<Row> = all_but(&["repetition"]).into_iter().map(row).collect();
    let answers = two_answers();
    let lines = ["Go", "/new", "Go"];
    rows.push(plain_row(answers.clone(), lines_of(&lines)).variant("new"));
    rows.push(
        plain_row(answers, lines_of(&["/name Mine", "/session", "/help"])).variant("commands"),
    );
    check("plain", rows);
}

fn plain_row(situation: Situation, steps: Vec<Step>) -> Row {
    Row { streams: Streams::Terminal, ..Row::new(situation, &[], steps) }
}

/// Types lines, each when the loop is ready, and leaves.
fn lines_of(lines: &[&str]) -> Vec<Step> {
    let mut steps = vec![READY];
    for line in lines {
        steps.extend([Step::Send((*line).to_owned()), READY]);
    }
    steps.push(Step::Send("/quit".to_owned()));
    steps
}

fn row(situation: Situation) -> Row {
    let mut steps = lines_of(&[situation.prompt]);
    let shown = match situation.ending {
        Ending::AbortWaiting => Some(Step::Requests(1)),
        Ending::AbortStreaming => Some(Step::Seen("Partial")),
        Ending::Settled | Ending::NotAsked => None,
    };
    if let Some(shown) = shown {
        // Behind the line with the prompt.
        steps.splice(2..2, [shown, Step::Signal(Signal::INT)]);
    }
    plain_row(situation, steps)
}
