//! Activity of the session, for the upper border of the editor.

use std::time::{Duration, Instant};

use pi_coding_agent::session::{CompactionReason, SessionEvent};
use pi_tui::input::Keymap;

/// Frames of the spinner.
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Time that a frame of the spinner is shown.
const FRAME: Duration = Duration::from_millis(80);

/// Activity of the session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Work {
    #[default]
    Idle,
    Answering,
    Retrying {
        attempt: u32,
        of: u32,
        until: Instant,
    },
    Compacting(CompactionReason),
    Summarizing,
}

/// Returns the time that something has taken, for the text before it; nothing in the first second.
fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        0 => String::new(),
        seconds @ 1..60 => format!(" {seconds}s"),
        seconds => format!(" {}m {:02}s", seconds / 60, seconds % 60),
    }
}

/// Activity of the session, its start, and the texts of extensions about it.
#[derive(Debug, Default)]
pub(super) struct Activity {
    work: Work,
    since: Option<Instant>,
    /// Text of an extension instead of the built-in one.
    pub(super) message: Option<String>,
    /// Frames of an extension instead of the built-in ones.
    pub(super) frames: Option<Vec<String>>,
    /// Time that a frame of an extension is shown.
    pub(super) interval: Option<Duration>,
    /// An extension hid the spinner.
    pub(super) is_hidden: bool,
}

impl Activity {
    pub(super) fn work(&self) -> &Work {
        &self.work
    }

    pub(super) fn is_idle(&self) -> bool {
        self.work == Work::Idle
    }

    pub(super) fn set(&mut self, work: Work, now: Instant) {
        if self.work == Work::Idle {
            self.since = Some(now);
        }
        self.work = work;
    }

    /// Follows the session.
    pub(super) fn on_event(&mut self, event: &SessionEvent, now: Instant) {
        match event {
            SessionEvent::AgentStart | SessionEvent::TurnStart { .. } => {
                self.set(Work::Answering, now);
            }
            SessionEvent::AutoRetryStart { attempt, max_attempts, delay_ms, .. } => {
                let until = now + Duration::from_millis(*delay_ms);
                self.set(Work::Retrying { attempt: *attempt, of: *max_attempts, until }, now);
            }
            SessionEvent::CompactionStart { reason } => {
                self.set(Work::Compacting(*reason), now);
            }
            SessionEvent::CompactionEnd { will_retry: false, reason, .. } => {
                // An automatic compaction is part of a run that goes on.
                let is_manual = *reason == CompactionReason::Manual;
                self.set(if is_manual { Work::Idle } else { Work::Answering }, now);
            }
            SessionEvent::AgentSettled { .. } | SessionEvent::SessionStart { .. } => {
                self.work = Work::Idle;
            }
            _ => {}
        }
    }

    /// Returns the spinner and the text beside it; `None` if nothing is done.
    pub(super) fn label(&self, now: Instant, keymap: &Keymap) -> Option<(String, String)> {
        if self.is_idle() || self.is_hidden {
            return None;
        }
        let since = self.since.map_or(Duration::ZERO, |since| now.duration_since(since));
        let frame = (since.as_millis() / self.frame_time().as_millis().max(1)) as usize;
        let spinner = match &self.frames {
            Some(frames) if frames.is_empty() => String::new(),
            Some(frames) => frames.get(frame % frames.len()).cloned().unwrap_or_default(),
            None => FRAMES.get(frame % FRAMES.len()).copied().unwrap_or_default().to_owned(),
        };
        let key = keymap.label("app.interrupt");
        let cancel = format!("{key} cancels");
        let text = match &self.work {
            Work::Idle => return None,
            Work::Answering => match &self.message {
                Some(message) => message.clone(),
                None => format!("Working{} · {key} stops", elapsed(since)),
            },
            Work::Retrying { attempt, of, until } => {
                let left = until.saturating_duration_since(now).as_secs_f64().ceil();
                format!("Retrying ({attempt}/{of}) in {left}s ({cancel})")
            }
            Work::Compacting(CompactionReason::Manual) => format!("Compacting ({cancel})"),
            Work::Compacting(CompactionReason::Overflow) => {
                format!("Context is full, compacting ({cancel})")
            }
            Work::Compacting(_) => format!("Compacting automatically ({cancel})"),
            Work::Summarizing => format!("Summarizing the branch ({cancel})"),
        };
        Some((spinner, text))
    }

    /// Returns the time of the next frame of the spinner.
    pub(super) fn next_frame(&self, now: Instant) -> Option<Instant> {
        if self.is_idle() || self.is_hidden {
            return None;
        }
        let since = self.since?;
        let frame = self.frame_time();
        let passed = now.duration_since(since).as_millis() / frame.as_millis().max(1);
        Some(since + frame * (u32::try_from(passed).unwrap_or(u32::MAX - 1) + 1))
    }

    /// Returns the time that a frame of the spinner is shown.
    fn frame_time(&self) -> Duration {
        match &self.frames {
            Some(_) => self.interval.unwrap_or(FRAME),
            None => FRAME,
        }
    }
}
